/* The part of DLPack (https://dmlc.github.io/dlpack) that sheaf.h exchanges tensors by: names, values and layout are
 * those of its stable, unversioned interface. For programs that do not have dlpack.h itself; include one of the two,
 * not both. */
#ifndef SHEAF_DLPACK_H
#define SHEAF_DLPACK_H
#ifndef DLPACK_DLPACK_H_
#include <stdint.h>

typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 } DLDataTypeCode;

typedef struct {
  int32_t device_type; /* a DLDeviceType */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* a DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: row-major without gaps */
  uint64_t byte_offset;
} DLTensor;

/* A tensor and how to give it back: whoever is handed one calls `deleter` once, from any thread, when done. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

#endif
#endif
