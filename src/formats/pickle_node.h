// The nodes that the pickle machine builds, later converted to values. Nodes may be shared, and grow while the machine
// runs. Private to the pickle loader.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/objects.h"
#include "formats/raw_array.h"
#include "value/value.h"

namespace sheaf::formats::pickle {

enum class Kind : uint8_t {
  Nil,
  Bool,
  Int,
  Float,
  Text,
  Bytes,
  List,
  Tuple,
  Dict,
  Global,
  Type,
  Array,
  Storage,
  Pending,  // a storage whose bytes follow later: the first reading only needs its type
  Object,   // an instance of an unknown class; its contents are dropped
};

struct Node {
  Kind kind = Kind::Nil;
  int64_t integer = 0;             // Bool, Int
  double number = 0;               // Float
  std::string text;                // Text, Bytes, Global ("module.name"), Type, Object (the name of its class)
  std::vector<Node*> items;        // List, Tuple; Dict: key, value, key, value …
  std::optional<RawType> type;     // Type
  std::unique_ptr<Tensor> tensor;  // Array, once its data has been read
  std::string_view bytes;          // Storage: raw elements, `text` their type
  std::string key;                 // Storage: its name in the file
  Ref<Buffer> whole;               // Storage: memory that contains them and may be shared
};

// Owns the nodes of one pickle and limits their total size: a small file could otherwise request the same bytes again
// and again.
class Nodes {
 public:
  explicit Nodes(size_t file_bytes) : budget_bytes_(64 * (file_bytes + 1024)) {}
  Node* make(Kind kind) {
    all_.emplace_back();
    all_.back().kind = kind;
    return &all_.back();
  }
  Node* text(Kind kind, std::string s) {
    Node* n = make(kind);
    n->text = std::move(s);
    return n;
  }
  void spend(size_t bytes);
  // Raises the limit by bytes outside the pickle that belong to it.
  void allow(size_t bytes) { budget_bytes_ += 16 * bytes; }

 private:
  std::deque<Node> all_;
  size_t budget_bytes_;
};

// An error in a PyTorch tensor or in its storage. The code that runs the pickle adds the key of the tensor.
struct TensorFault {
  std::string storage, what;
};

// Resolves a persistent id of the file.
using PersistentLoad = std::function<Node*(Nodes& nodes, const Node* id)>;

// The result of calling `callee`, for known data constructors; an Object for all others.
Node* apply_reduce(Nodes& nodes, Node* callee, Node* args);
// The same for PyTorch's functions (null for unknown ones), and the element size of a storage type (0: unknown).
Node* apply_torch(Nodes& nodes, const Node* callee, Node* args);
uint64_t torch_element_bytes(std::string_view storage);
// "FloatStorage" (empty for types without a storage class) and "float32".
std::string_view torch_storage_of(DType d);
std::string_view torch_dtype_of(DType d);
// The dtype of "torch.float32".
std::optional<DType> torch_dtype_named(std::string_view name);
// Python's __setstate__, for known types.
void apply_build(Nodes& nodes, Node* object, Node* state);
// Each node becomes one value, so shared nodes become shared values.
Value to_value(Node* root, Objects objects);

}  // namespace sheaf::formats::pickle
