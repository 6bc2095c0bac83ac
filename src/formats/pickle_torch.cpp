// Tensors of PyTorch inside pickles: a storage and how to look at it.
#include <fmt/format.h>

#include "formats/pickle_node.h"
#include "support/error.h"

namespace sheaf::formats::pickle {
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("pickle: " + message); }

struct TorchType {
  std::string_view storage, dtype;
  DType ours;
};
constexpr TorchType kTypes[] = {{"FloatStorage", "float32", DType::F32},
                                {"DoubleStorage", "float64", DType::F64},
                                {"HalfStorage", "float16", DType::F16},
                                {"BFloat16Storage", "bfloat16", DType::BF16},
                                {"LongStorage", "int64", DType::I64},
                                {"IntStorage", "int32", DType::I32},
                                {"ShortStorage", "int16", DType::I16},
                                {"CharStorage", "int8", DType::I8},
                                {"ByteStorage", "uint8", DType::U8},
                                {"BoolStorage", "bool", DType::Bool},
                                {"ComplexFloatStorage", "complex64", DType::C64},
                                {"", "uint16", DType::U16},
                                {"", "uint32", DType::U32}};

// "torch.FloatStorage", "torch.float32" → the part after the last point.
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::optional<DType> storage_type(std::string_view name) {
  for (const TorchType& t : kTypes)
    if (!t.storage.empty() && t.storage == last_part(name)) return t.ours;
  return std::nullopt;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const TorchType& t : kTypes)
    if (t.dtype == last_part(name)) return t.ours;
  return std::nullopt;
}

const TorchType& torch_type(DType d) {
  for (const TorchType& t : kTypes)
    if (t.ours == d) return t;
  fail("unsupported tensor dtype");
}

Dims ints_of(const Node* n, const char* what) {
  if (n->kind != Kind::Tuple && n->kind != Kind::List) fail(fmt::format("a tensor's {} is not a tuple", what));
  Dims out;
  for (const Node* d : n->items) {
    if (d->kind != Kind::Int || d->integer < 0)
      fail(fmt::format("a tensor's {} holds something else than sizes", what));
    out.push_back(d->integer);
  }
  return out;
}

// _rebuild_tensor_v2(storage, offset, size, stride, …) and _v3 with a dtype at the seventh place.
Node* rebuild(Nodes& nodes, const Node* args, bool typed) {
  if (args->items.size() < (typed ? 7 : 4)) fail("a tensor is malformed");
  const Node *storage = args->items[0], *offset = args->items[1];
  if (storage->kind == Kind::Pending) return nodes.make(Kind::Nil);
  if (storage->kind == Kind::Object && storage->text == "torch.storage._load_from_bytes")
    throw TensorFault{"", "it was written by pickle.dump, which hides its data; in Python, use torch.save(…, path)"};
  if (storage->kind != Kind::Storage || offset->kind != Kind::Int || offset->integer < 0)
    fail("a tensor without its storage");
  auto fault = [&](std::string what) { throw TensorFault{storage->key, std::move(what)}; };
  auto d = typed ? dtype_named(args->items[6]->text) : storage_type(storage->text);
  if (!d) fault("unsupported dtype '" + (typed ? args->items[6]->text : storage->text) + "'");
  Dims sizes = ints_of(args->items[2], "size"), strides = ints_of(args->items[3], "stride");
  if (sizes.size() != strides.size()) fault(fmt::format("{} axes and {} strides", sizes.size(), strides.size()));
  int64_t n = checked_file_elems(sizes), available = static_cast<int64_t>(storage->bytes.size()) / size_bytes(*d);
  int64_t last = offset->integer;
  bool inside = true;
  for (size_t a = 0; a < sizes.size() && n > 0; ++a) {
    int64_t reach;
    inside &= !__builtin_mul_overflow(sizes[a] - 1, strides[a], &reach) && !__builtin_add_overflow(last, reach, &last);
  }
  if (n > 0 && (!inside || last >= available))
    fault(fmt::format("shape {} with strides {} reaches outside storage '{}' of {} elements", shape_text(sizes),
                      shape_text(strides), storage->key, available));
  nodes.spend(static_cast<size_t>(n) * size_bytes(*d));
  Node* out = nodes.make(Kind::Array);
  RawType type{*d, size_bytes(*d)};
  if (n == 0) {
    out->tensor = std::make_unique<Tensor>(empty_tensor(*d, sizes));
  } else if (strides == contiguous_strides(sizes)) {
    out->tensor = std::make_unique<Tensor>(
        tensor_from_raw(type, sizes, storage->bytes.substr(offset->integer * size_bytes(*d), n * size_bytes(*d)), false,
                        storage->whole));
  } else {
    Tensor whole =
        tensor_from_raw(type, {available}, storage->bytes.substr(0, available * size_bytes(*d)), false, storage->whole);
    out->tensor =
        std::make_unique<Tensor>(copy_of(Tensor{*d, sizes, strides, whole.offset + offset->integer, whole.buffer}));
  }
  return out;
}

}  // namespace

uint64_t torch_element_bytes(std::string_view storage) {
  if (last_part(storage) == "UntypedStorage") return 1;
  auto d = storage_type(storage);
  return d ? size_bytes(*d) : 0;
}

std::string_view torch_storage_of(DType d) { return torch_type(d).storage; }
std::string_view torch_dtype_of(DType d) { return torch_type(d).dtype; }

std::optional<DType> torch_dtype_named(std::string_view name) {
  return name.starts_with("torch.") ? dtype_named(name) : std::nullopt;
}

Node* apply_torch(Nodes& nodes, const Node* callee, Node* args) {
  std::string_view name = last_part(callee->text);
  Node* const* arg = args->items.data();
  size_t n = args->items.size();
  if (name == "_rebuild_tensor_v2" || name == "_rebuild_tensor") return rebuild(nodes, args, false);
  if (name == "_rebuild_tensor_v3") return rebuild(nodes, args, true);
  if ((name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") && n > 0) return arg[0];
  if (name == "Parameter" && n > 0 && arg[0]->kind == Kind::Array) return arg[0];
  // (function, type, its arguments, attributes): a tensor of a class that adds nothing to its data.
  if (name == "_rebuild_from_type_v2" && n > 2 && arg[1]->text.starts_with("torch.") && arg[2]->kind == Kind::Tuple)
    return apply_torch(nodes, arg[0], arg[2]);
  if (name == "Size" && n > 0) return arg[0];
  if (name == "_get_layout" && n == 1) return arg[0];  // "torch.strided"
  if (name == "device" && n > 0 && arg[0]->kind == Kind::Text) {
    bool numbered = n > 1 && arg[1]->kind == Kind::Int;
    return nodes.text(Kind::Text, numbered ? fmt::format("{}:{}", arg[0]->text, arg[1]->integer) : arg[0]->text);
  }
  return nullptr;
}

}  // namespace sheaf::formats::pickle
