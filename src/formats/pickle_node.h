// What the pickle machine builds before it becomes values: nodes are shared and still growing while it runs. Private to
// the pickle loader.
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
  Pending,  // a storage whose bytes come later: a first reading only asks for its type
  Object,   // an instance of a class that we do not know; what is put into it is dropped
};

struct Node {
  Kind kind = Kind::Nil;
  int64_t integer = 0;             // Bool, Int
  double number = 0;               // Float
  std::string text;                // Text, Bytes, Global ("module.name"), Type, Object (the name of its class)
  std::vector<Node*> items;        // List, Tuple; Dict: key, value, key, value …
  std::optional<RawType> type;     // Type
  std::unique_ptr<Tensor> tensor;  // Array, once its data came
  std::string_view bytes;          // Storage: raw elements, `text` their type
  std::string key;                 // Storage: its name in the file
  Ref<Buffer> whole;               // Storage: memory that holds them and may be shared
};

// Owns the nodes of one pickle and limits what they may hold: a small file could ask for the same bytes again and
// again.
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
  // Bytes outside the pickle that belong to it.
  void allow(size_t bytes) { budget_bytes_ += 16 * bytes; }

 private:
  std::deque<Node> all_;
  size_t budget_bytes_;
};

// Something is wrong with a tensor of PyTorch, or with the storage that it was to look at. Whoever runs the pickle
// knows under which key it was to stand, and says so.
struct TensorFault {
  std::string storage, what;
};

// What a persistent id of the file stands for.
using PersistentLoad = std::function<Node*(Nodes& nodes, const Node* id)>;

// The result of calling `callee`, of which only data constructors are known; an Object for the others.
Node* apply_reduce(Nodes& nodes, Node* callee, Node* args);
// The same for functions of PyTorch, null for those that we do not know, and the size of a storage's elements (0:
// unknown).
Node* apply_torch(Nodes& nodes, const Node* callee, Node* args);
uint64_t torch_element_bytes(std::string_view storage);
// "FloatStorage" (empty for types without a class of their own) and "float32".
std::string_view torch_storage_of(DType d);
std::string_view torch_dtype_of(DType d);
// Of "torch.float32".
std::optional<DType> torch_dtype_named(std::string_view name);
// Python's __setstate__, for the types we know.
void apply_build(Nodes& nodes, Node* object, Node* state);
// Each node becomes one value, so what was shared stays shared.
Value to_value(Node* root, Objects objects);

}  // namespace sheaf::formats::pickle
