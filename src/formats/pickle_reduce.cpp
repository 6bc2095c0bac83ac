// The globals a pickle may name, as data constructors.
#include "formats/pickle_node.h"
#include "support/error.h"

namespace sheaf::formats::pickle {
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("pickle: " + message); }

bool is_global(const Node* n, std::string_view end) { return n->kind == Kind::Global && n->text.ends_with(end); }

bool is_sequence(const Node* n) { return n->kind == Kind::Tuple || n->kind == Kind::List; }

// Text whose characters are the bytes 0…255, as Python 2 protocols encode bytes.
std::string latin1_bytes(const std::string& utf8) {
  std::string out;
  for (size_t i = 0; i < utf8.size(); ++i) {
    auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      out += static_cast<char>(c);
      continue;
    }
    if ((c != 0xC2 && c != 0xC3) || i + 1 >= utf8.size()) fail("text is not latin-1");
    out += static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3F));
  }
  return out;
}

Node* encoded(Nodes& nodes, const Node* text) {
  nodes.spend(text->text.size());
  return nodes.text(Kind::Bytes, latin1_bytes(text->text));
}

// True for either of two built-in Python types, whose module was renamed once. Protocol 2 has no opcodes for bytes
// (except empty ones and bytearrays) and sets.
bool is_builtin(const Node* n, std::string_view one, std::string_view other) {
  if (n->kind != Kind::Global) return false;
  for (std::string_view module : {"builtins.", "__builtin__."})
    if (n->text.starts_with(module)) {
      std::string_view name = std::string_view(n->text).substr(module.size());
      return name == one || name == other;
    }
  return false;
}

// The result of calling something unknown. For classes pickled through one of Python's own functions, the class is its
// first argument.
Node* unknown_object(Nodes& nodes, const Node* callee, const Node* args) {
  bool indirect = callee->text.starts_with("copyreg.") || callee->text.starts_with("copy_reg.");
  const Node* type = indirect && !args->items.empty() && args->items[0]->kind == Kind::Global ? args->items[0] : callee;
  if (type->text.starts_with("joblib."))
    throw runtime_error("pickle: a file of joblib, whose arrays lie between the parts of the pickle, is not read here")
        .hint("in Python: numpy.savez(\"a.npz\", **arrays), or torch.save");
  nodes.spend(type->text.size());
  return nodes.text(Kind::Object, type->text);
}

Dims shape_of(const Node* n) {
  if (n->kind == Kind::Int) return {n->integer};
  if (!is_sequence(n)) fail("an array's shape is not a tuple");
  Dims out;
  for (const Node* d : n->items) {
    if (d->kind != Kind::Int) fail("an array's shape holds something else than ints");
    out.push_back(d->integer);
  }
  return out;
}

const RawType& type_of(const Node* n) {
  if (n->kind != Kind::Type) fail("an array has no dtype");
  if (!n->type) fail("unsupported array dtype '" + n->text + "'");
  return *n->type;
}

Tensor array_of(Nodes& nodes, const Node* shape, const Node* type, const Node* data, bool fortran) {
  if (data->kind != Kind::Bytes && data->kind != Kind::Text) fail("an array's data are not bytes");
  nodes.spend(data->text.size());
  try {
    return tensor_from_raw(type_of(type), shape_of(shape), data->text, fortran);
  } catch (UserError& e) {
    if (!e.message.starts_with("pickle: ")) e.message = "pickle: " + e.message;
    throw;
  }
}

// ndarray.__setstate__((version, shape, dtype, is_fortran, data)); the oldest files lack the version.
Tensor array_of_state(Nodes& nodes, const Node* state) {
  if (!is_sequence(state) || state->items.size() < 4 || state->items.size() > 5) fail("an array's state is malformed");
  const Node* const* at = state->items.data() + (state->items.size() - 4);
  return array_of(nodes, at[0], at[1], at[3], at[2]->integer != 0);
}

// The transpose in which axis order[a] of the tensor becomes axis a.
Tensor with_axes(const Tensor& t, const Dims& order) {
  Tensor out = t;
  std::vector<bool> seen(t.rank(), false);
  bool ok = static_cast<int>(order.size()) == t.rank();
  for (int a = 0; ok && a < t.rank(); ++a) {
    ok = order[a] >= 0 && order[a] < t.rank() && !seen[order[a]];
    if (!ok) break;
    seen[order[a]] = true;
    out.sizes[a] = t.sizes[order[a]];
    out.strides[a] = t.strides[order[a]];
  }
  if (!ok) fail("an array's axis order is not a permutation");
  return contiguous(out);
}

Node* array_node(Nodes& nodes, Tensor t) {
  Node* n = nodes.make(Kind::Array);
  n->tensor = std::make_unique<Tensor>(std::move(t));
  return n;
}

Node* make_type(Nodes& nodes, const Node* args) {
  Node* n = nodes.make(Kind::Type);
  if (args->items.empty()) fail("numpy.dtype without a type");
  const Node* what = args->items[0];
  n->text = what->text;
  // Extension types are named by their class.
  n->type = parse_numpy_type(is_global(what, ".bfloat16") || what->text == "bfloat16" ? "V2" : what->text);
  return n;
}

Node* make_dict_node(Nodes& nodes, const Node* args) {
  Node* n = nodes.make(Kind::Dict);
  if (args->items.empty() || !is_sequence(args->items[0])) return n;
  for (const Node* pair : args->items[0]->items) {
    if (!is_sequence(pair) || pair->items.size() != 2) fail("an OrderedDict is made of something else than pairs");
    n->items.push_back(pair->items[0]);
    n->items.push_back(pair->items[1]);
  }
  return n;
}

}  // namespace

void Nodes::spend(size_t bytes) {
  if (bytes > budget_bytes_) fail("the contents are far larger than the file");
  budget_bytes_ -= bytes;
}

Node* apply_reduce(Nodes& nodes, Node* callee, Node* args) {
  if (!is_sequence(args)) fail("arguments that are not a tuple");
  size_t n = args->items.size();
  Node* const* arg = args->items.data();
  if (is_global(callee, "multiarray._reconstruct")) return nodes.make(Kind::Array);
  if (is_global(callee, "numpy.dtype")) return make_type(nodes, args);
  if (is_global(callee, "_codecs.encode")) {
    if (n == 0 || arg[0]->kind != Kind::Text) fail("_codecs.encode of something else than text");
    return encoded(nodes, arg[0]);
  }
  if (is_global(callee, "multiarray.scalar") && n == 2) {
    Node no_axes;
    no_axes.kind = Kind::Tuple;
    return array_node(nodes, array_of(nodes, &no_axes, arg[0], arg[1], false));
  }
  if (is_global(callee, "numeric._frombuffer") && n >= 4) {  // (data, dtype, shape, order, axis order), protocol 5
    Tensor t = array_of(nodes, arg[2], arg[1], arg[0], arg[3]->text == "F");
    return array_node(nodes, n > 4 && arg[3]->text == "K" ? with_axes(t, shape_of(arg[4])) : std::move(t));
  }
  if (is_global(callee, "._reconstruct_array") && callee->text.starts_with("jax") && n >= 3)
    return array_node(nodes, array_of_state(nodes, arg[2]));  // (constructor, its arguments, array state, …)
  if (is_global(callee, "collections.OrderedDict")) {
    nodes.spend(8 * (n > 0 ? arg[0]->items.size() : 0));
    return make_dict_node(nodes, args);
  }
  if (is_global(callee, "collections.defaultdict")) return nodes.make(Kind::Dict);
  if (is_global(callee, "collections.Counter") && n == 1 && arg[0]->kind == Kind::Dict) return arg[0];
  if (is_global(callee, "collections.deque"))
    return n > 0 && arg[0]->kind == Kind::List ? arg[0] : nodes.make(Kind::List);
  if (is_builtin(callee, "set", "frozenset") && n == 1 && arg[0]->kind == Kind::List) return arg[0];
  if (callee->kind == Kind::Global && callee->text.starts_with("torch."))
    if (Node* known = apply_torch(nodes, callee, args)) return known;
  if (is_builtin(callee, "bytes", "bytearray")) {
    if (n == 0) return nodes.make(Kind::Bytes);
    if (arg[0]->kind == Kind::Bytes) return arg[0];
    if (arg[0]->kind == Kind::Text) return encoded(nodes, arg[0]);
  }
  return unknown_object(nodes, callee, args);
}

void apply_build(Nodes& nodes, Node* object, Node* state) {
  if (object->kind == Kind::Array) {
    object->tensor = std::make_unique<Tensor>(array_of_state(nodes, state));
  } else if (object->kind == Kind::Type && is_sequence(state) && state->items.size() >= 2 && object->type) {
    object->type->big_endian = state->items[1]->text == ">";  // (version, byte order, …)
  }
}

}  // namespace sheaf::formats::pickle
