/* Sheaf inside another program: sessions, values, tensors without copies, errors as values. Link with libsheaf.so.
 *
 * OWNERSHIP. A function that gives a pointer to a sheaf_session, sheaf_value or sheaf_error makes a handle that belongs
 * to the caller, who ends it with the function of that name and `_free` (freeing NULL does nothing). Functions never
 * take over a value they are given. Text (const char*) that is given belongs to the handle it was asked of and lives as
 * long.
 *
 * ERRORS. A function that can fail because of the program gives NULL, or an error that tells everything about it. When
 * it fails, *out is NULL.
 *
 * THREADS. Every function may be called from every thread. A session runs one call at a time, on a thread of its own
 * with a stack deep enough for recursive programs; others wait their turn. Different sessions run side by side. Values
 * are immutable and may be read by several threads, but one handle must not be freed while another thread uses it. Do
 * not call a session from a DLPack deleter. After fork() the child must not use sessions of its parent.
 *
 * SESSIONS share nothing: each has its own definitions. Plain data and tensors made by one may be given to another;
 * functions belong to the session that made them.
 */
#ifndef SHEAF_SHEAF_H
#define SHEAF_SHEAF_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SHEAF_API __attribute__((visibility("default")))
#else
#define SHEAF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sheaf_session sheaf_session;
typedef struct sheaf_value sheaf_value;
typedef struct sheaf_error sheaf_error;
struct DLManagedTensor; /* of dlpack.h, or of sheaf/dlpack.h */

/* "2.2.0" */
SHEAF_API const char* sheaf_version(void);

/* Where sessions compute: "cpu" (at first), "cuda", "cuda:1", or "sim", a simulated device for tests. At most once, and
 * before the first session. An operation runs on the device if one of its inputs is there or if it is large. */
SHEAF_API sheaf_error* sheaf_use_device(const char* name);

/* ---- Sessions ---- */

/* NULL when there is no memory or no thread for one. */
SHEAF_API sheaf_session* sheaf_new(void);
/* Waits for a call that runs. Values live on; functions among them can no longer be called. */
SHEAF_API void sheaf_free(sheaf_session* session);

/* Runs a text and gives the value of its last form. `out` may be NULL. Later texts may define names again. */
SHEAF_API sheaf_error* sheaf_eval(sheaf_session* session, const char* text, sheaf_value** out);
/* The same for a file; `use` in it looks beside it. */
SHEAF_API sheaf_error* sheaf_run_file(sheaf_session* session, const char* path, sheaf_value** out);
/* Calls a function by its name, exactly as (name arg …) in the program would; it may run as compiled code. Named
 * arguments are keywords followed by values. */
SHEAF_API sheaf_error* sheaf_call(sheaf_session* session, const char* name, sheaf_value* const* args, size_t num_args,
                                  sheaf_value** out);
/* Calls a function value. */
SHEAF_API sheaf_error* sheaf_apply(sheaf_session* session, const sheaf_value* function, sheaf_value* const* args,
                                   size_t num_args, sheaf_value** out);
/* The value of a global name: of the program, of the library, or a built-in function. */
SHEAF_API sheaf_error* sheaf_lookup(sheaf_session* session, const char* name, sheaf_value** out);
/* Asks the call that runs in the session to stop; it then fails with the message "Interrupted". Does nothing when no
 * call runs. Safe in a signal handler. When several sessions run at once, it may stop another one of them. */
SHEAF_API void sheaf_interrupt(sheaf_session* session);

/* ---- Errors ---- */

/* "parse", "compile", "runtime", "autodiff" or "io": the program's. "argument": the host's, such as a dtype that Sheaf
 * does not have. "exit": the program called (exit n). "memory", "internal". */
SHEAF_API const char* sheaf_error_kind(const sheaf_error* error);
/* What happened, without place and hints. */
SHEAF_API const char* sheaf_error_message(const sheaf_error* error);
/* Where: a path, "<eval>" or "<call>", or "" when there is no place; line and column count from 1, or are 0. */
SHEAF_API const char* sheaf_error_file(const sheaf_error* error);
SHEAF_API int sheaf_error_line(const sheaf_error* error);
SHEAF_API int sheaf_error_column(const sheaf_error* error);
/* Everything, as the command line prints it: message, place with the source line, notes, hints, calls. */
SHEAF_API const char* sheaf_error_report(const sheaf_error* error);
/* The n of (exit n), otherwise 1. */
SHEAF_API int sheaf_error_exit_code(const sheaf_error* error);
SHEAF_API void sheaf_error_free(sheaf_error* error);

/* ---- Values ---- */

typedef enum {
  SHEAF_NIL,
  SHEAF_BOOL,
  SHEAF_INT,
  SHEAF_FLOAT,
  SHEAF_STRING,
  SHEAF_KEYWORD,
  SHEAF_LIST,
  SHEAF_TUPLE,
  SHEAF_DICT,
  SHEAF_TENSOR,
  SHEAF_FUNCTION,
  SHEAF_OTHER /* atoms, futures: can be passed on, not looked into */
} sheaf_kind;

SHEAF_API sheaf_kind sheaf_kind_of(const sheaf_value* value);
SHEAF_API void sheaf_value_free(sheaf_value* value);
/* A second handle to the same value. */
SHEAF_API sheaf_value* sheaf_value_copy(const sheaf_value* value);

SHEAF_API sheaf_value* sheaf_nil(void);
SHEAF_API sheaf_value* sheaf_bool(int truth);
SHEAF_API sheaf_value* sheaf_int(int64_t number);
/* Scalars of the language are f32; a double that must stay one travels as a tensor. */
SHEAF_API sheaf_value* sheaf_float(double number);
/* `size` bytes of UTF-8. */
SHEAF_API sheaf_value* sheaf_string(const char* text, size_t size);
/* Without the colon. */
SHEAF_API sheaf_value* sheaf_keyword(const char* name);
SHEAF_API sheaf_value* sheaf_list(sheaf_value* const* items, size_t size);
SHEAF_API sheaf_value* sheaf_tuple(sheaf_value* const* items, size_t size);
/* Keys are names, without the colon. */
SHEAF_API sheaf_value* sheaf_dict(const char* const* keys, sheaf_value* const* values, size_t size);

/* What is in a value. Asked of a value of another kind: 0, NULL or an empty answer; an int is also a float. */
SHEAF_API int sheaf_get_bool(const sheaf_value* value);
SHEAF_API int64_t sheaf_get_int(const sheaf_value* value);
SHEAF_API double sheaf_get_float(const sheaf_value* value);
/* The text of a string or the name of a keyword, ended by a zero byte; `size` may be NULL. */
SHEAF_API const char* sheaf_get_text(const sheaf_value* value, size_t* size);
/* How many items or entries a list, tuple or dict has. */
SHEAF_API size_t sheaf_size(const sheaf_value* value);
/* A list's or tuple's item, or the value of a dict's entry, by its place. Dicts are in byte order of their keys. */
SHEAF_API sheaf_value* sheaf_item(const sheaf_value* value, size_t index);
SHEAF_API const char* sheaf_dict_key(const sheaf_value* dict, size_t index);
/* NULL when there is no such key. */
SHEAF_API sheaf_value* sheaf_dict_get(const sheaf_value* dict, const char* key);
/* The value as `print` shows it: a string. */
SHEAF_API sheaf_value* sheaf_text_of(const sheaf_value* value);

/* ---- Tensors ----
 *
 * IN. The tensor's memory is used where it is, with its strides; nothing is copied. On success Sheaf owns `tensor` and
 * calls its deleter once when no value needs the memory any longer, which is not before the handle is freed and may be
 * later: the program may have kept the tensor, or a view of it. The deleter is called on whichever thread drops it
 * last. On failure the caller still owns it. Sheaf never writes to this memory, and relies on nobody else doing so
 * while it has it. Memory must be aligned to the element size. It is the CPU's, or that of the GPU in use
 * (sheaf_use_device): such a tensor is copied on the GPU, behind all that this process has submitted there, and its
 * deleter is called before the function returns.
 *
 * OUT. *out shows the value's own memory; nothing is copied (except that an axis which runs backwards is straightened).
 * It keeps the memory alive by itself, also after the value and the session are freed, until its deleter is called.
 * Treat it as read-only: values are immutable, and the program may still hold this one. sheaf_to_dlpack shows memory of
 * the CPU, with a copy of what is on a GPU. sheaf_to_dlpack_on_device shows a tensor where it is, complete; if that is
 * a GPU, its deleter waits for all work that the process has submitted there.
 *
 * Element types: f16 bf16 f32 f64, i8 i16 i32 i64, u8 u16 u32, bool (one byte). */
SHEAF_API sheaf_error* sheaf_from_dlpack(struct DLManagedTensor* tensor, sheaf_value** out);
SHEAF_API sheaf_error* sheaf_to_dlpack(const sheaf_value* value, struct DLManagedTensor** out);
SHEAF_API sheaf_error* sheaf_to_dlpack_on_device(const sheaf_value* value, struct DLManagedTensor** out);
/* Fills out->dl_tensor with the tensor's type, sizes, strides and device, and without its data: nothing is copied or
 * waited for. Sizes and strides belong to the value. There is no deleter. */
SHEAF_API sheaf_error* sheaf_tensor_layout(const sheaf_value* value, struct DLManagedTensor* out);

#ifdef __cplusplus
}
#endif
#endif
