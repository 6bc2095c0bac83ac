#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "graph/op_def.h"
#include "graph/text.h"
#include "support/name.h"
#include "tensor/element_text.h"

namespace sheaf::graph {
namespace {

class Parser {
 public:
  Parser(Scanner& s, const FindOp& find_op) : s_(s), find_op_(find_op) {}

  Graph run() {
    s_.expect("graph");
    if (s_.accept("@")) s_.word();
    s_.expect("(");
    Graph g;
    for (bool first = true; !s_.accept(")"); first = false) {
      if (!first) s_.expect(",");
      std::string name(s_.word());
      s_.expect(":");
      auto n = make_ref<Node>(&op("input"), Attrs(), std::vector<Operand>(), std::vector<TensorType>{type()});
      define(name, n);
      g.inputs.push_back(std::move(n));
    }
    s_.expect("{");
    while (!s_.accept("return")) {
      if (s_.accept("keep"))
        kept(g);
      else
        node();
    }
    if (!s_.accept("}")) {
      g.outputs = operands("}");
      s_.expect("}");
    }
    return g;
  }

 private:
  const OpDef& op(std::string_view name) {
    const OpDef* d = find_op_(name);
    if (!d) s_.fail(fmt::format("unknown op {}", name));
    return *d;
  }

  void define(const std::string& name, Ref<Node> n) {
    if (!nodes_.emplace(name, std::move(n)).second) s_.fail(fmt::format("{} is defined twice", name));
  }

  TensorType type() {
    TensorType t;
    t.dtype = scan_dtype(s_);
    s_.expect("[");
    if (s_.accept("]")) return t;
    do
      t.sizes.push_back(scan_size(s_));
    while (s_.accept_adjacent('x'));
    s_.expect("]");
    return t;
  }

  // v3: f32[2] = add(v1, v2) {…}
  void node() {
    std::string name(s_.word());
    s_.expect(":");
    std::vector<TensorType> types;
    if (s_.accept("(")) {
      while (!s_.accept(")")) {
        if (!types.empty()) s_.expect(",");
        types.push_back(type());
      }
    } else {
      types.push_back(type());
    }
    s_.expect("=");
    const OpDef& d = op(s_.word());
    s_.expect("(");
    std::vector<Operand> inputs = operands(")");
    s_.expect(")");
    Attrs attrs = s_.accept("{") ? attributes() : Attrs();
    define(name, make_ref<Node>(&d, std::move(attrs), std::move(inputs), std::move(types)));
  }

  // keep v6, v8
  void kept(Graph& g) {
    do {
      Operand o = operand();
      if (!o.is_node()) s_.fail("only nodes can be kept");
      g.effects.push_back(o.node());
    } while (s_.accept(","));
  }

  std::vector<Operand> operands(std::string_view closer) {
    std::vector<Operand> out;
    while (!s_.next_is(closer)) {
      if (!out.empty()) s_.expect(",");
      out.push_back(operand());
    }
    return out;
  }

  Operand operand() {
    if (s_.accept("const")) return constant();
    std::string_view ref = s_.word();
    size_t dot = ref.find('.');
    auto it = nodes_.find(std::string(ref.substr(0, dot)));
    if (it == nodes_.end()) s_.fail(fmt::format("{} is not defined before its use", ref.substr(0, dot)));
    size_t index = 0;
    if (dot != std::string_view::npos) index = std::strtoul(std::string(ref.substr(dot + 1)).c_str(), nullptr, 10);
    if (index >= it->second->types.size())
      s_.fail(fmt::format("{} has {} outputs", ref.substr(0, dot), it->second->types.size()));
    return Operand(it->second, static_cast<int>(index));
  }

  Operand constant() {
    TensorType t = type();
    for (Size d : t.sizes)
      if (!d.is_const() || d.value() < 0) s_.fail("the sizes of a constant are numbers");
    Tensor x = empty_tensor(t.dtype, to_dims(t.sizes));
    int width = size_bytes(t.dtype);
    bool splat = s_.accept("splat");
    s_.expect("{");
    int64_t n = x.num_elems();
    for (int64_t i = 0; i < (splat ? 1 : n); ++i) {
      if (i) s_.expect(",");
      std::string_view text = s_.number();
      if (n > 0 && !parse_exact(t.dtype, text, x.bytes_mut() + i * width))
        s_.fail(fmt::format("{} is no element of {}", text, name_of(t.dtype)));
    }
    s_.expect("}");
    if (splat)
      for (int64_t i = 1; i < n; ++i)
        std::memcpy(x.bytes_mut() + i * width, x.bytes(), width);
    return x;
  }

  Attrs attributes() {
    Attrs attrs;
    for (bool first = true; !s_.accept("}"); first = false) {
      if (!first) s_.expect(",");
      // Attributes keep pointers to their keys; an interned name lives as long as the program.
      const char* key = Name(s_.word()).str().c_str();
      s_.expect("=");
      attrs.add(key, attribute());
    }
    return attrs;
  }

  AttrValue attribute() {
    if (s_.next_is("\"")) return s_.quoted();
    if (s_.accept("[")) {
      Sizes sizes;
      while (!s_.accept("]")) {
        if (!sizes.empty()) s_.expect(",");
        sizes.push_back(scan_size(s_));
      }
      return sizes;
    }
    std::string_view text = s_.number();
    if (text == "true" || text == "false") return text == "true";
    if (auto d = dtype_from_name(text)) return *d;
    bool is_integer = text.find_first_not_of("0123456789-+") == std::string_view::npos;
    int64_t i = 0;
    double x = 0;
    if (is_integer && parse_exact(DType::I64, text, reinterpret_cast<std::byte*>(&i))) return i;
    if (parse_exact(DType::F64, text, reinterpret_cast<std::byte*>(&x))) return x;
    s_.fail(fmt::format("{} is no attribute value", text));
  }

  Scanner& s_;
  const FindOp& find_op_;
  std::unordered_map<std::string, Ref<Node>> nodes_;
};

}  // namespace

Graph parse(Scanner& s, const FindOp& find_op) { return Parser(s, find_op).run(); }

}  // namespace sheaf::graph
