// Whole trees of dicts and lists: all other values are leaves, tuples included.
#include "value/tree.h"

#include <fmt/format.h>

#include "builtins/core/elements.h"
#include "builtins/core/missing.h"
#include "builtins/data/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// Deeper data are a chain made by mistake, not a tree.
constexpr size_t kMaxDepth = 4000;

UserError too_deep(const char* who) {
  return runtime_error(fmt::format("{}: nested deeper than {} levels", who, kMaxDepth));
}

UserError missing_key(Name key, const DictObj& dict) {
  return runtime_error(fmt::format("tree-map: key {} missing in one tree", key.str()))
      .hint("that tree has " + key_list(dict));
}

UserError structure_mismatch(const Value& a, const Value& b) {
  return runtime_error("tree-map: tree structure mismatch")
      .hint(fmt::format("{} in the first tree meets {} in another; all trees must have the same keys and lengths",
                        short_text(a), short_text(b)));
}

// Containers that tree-map may enter together: the other trees have all parts of the first; dicts may have more.
void check_containers(std::span<const Value* const> parts) {
  const Value& first = *parts[0];
  for (const Value* t : parts) {
    if (t->tag() != first.tag()) throw structure_mismatch(first, *t);
    if (first.is_list() && t->items().size() != first.items().size())
      throw runtime_error("tree-map: list length mismatch")
          .hint(fmt::format("lists of {} and {} items meet", first.items().size(), t->items().size()));
  }
  if (first.is_dict())
    for (const DictEntry& e : first.as_dict().entries())
      for (const Value* t : parts)
        if (!t->as_dict().find(e.key)) throw missing_key(e.key, t->as_dict());
}

bool is_view(const Value& v, const Tensor& of) { return v.is_tensor() && v.as_tensor().buffer == of.buffer; }

// Calls f with the leaves of all trees at one position; with `paths` the path comes first. Weights of a mapped file
// that are converted (quantized, cast) are released from memory one by one.
Value map_trees(Call& c, bool paths) {
  const std::vector<Value> args = std::move(c.args);
  std::span<const Value> trees = std::span(args).subspan(1);
  return zip_trees(trees, Nodes::Lists,
                   [&](std::span<const Value* const> parts, const TreePath& path) -> std::optional<Value> {
                     if (path.size() > kMaxDepth) throw too_deep("tree-map");
                     if (parts[0]->is_dict() || parts[0]->is_list()) {
                       check_containers(parts);
                       return std::nullopt;
                     }
                     std::vector<Value> leaves;
                     leaves.reserve(parts.size() + paths);
                     if (paths) leaves.push_back(Value::string(path.text()));
                     for (const Value* v : parts)
                       leaves.push_back(*v);
                     Value made = c.caller.call(args[0], std::move(leaves));
                     for (const Value* v : parts)
                       if (v->is_tensor() && !is_view(made, v->as_tensor())) release_converted(v->as_tensor());
                     return made;
                   });
}

Value tree_map(Call& c) { return map_trees(c, false); }
Value tree_map_path(Call& c) { return map_trees(c, true); }

// Calls visit(leaf) depth first, dict entries in key order.
template <class F>
void for_each_leaf(const Value& tree, const char* who, const F& visit) {
  LeafCursor leaves(tree, Nodes::Lists, kMaxDepth);
  while (const Value* v = leaves.next())
    visit(*v);
  if (leaves.too_deep()) throw too_deep(who);
}

Value tree_reduce(Call& c) {
  Value acc = std::move(c[2]);
  for_each_leaf(c[1], "tree-reduce", [&](const Value& leaf) {
    std::vector<Value> args;
    args.push_back(std::move(acc));
    args.push_back(leaf);
    acc = c.caller.call(c[0], std::move(args));
  });
  return acc;
}

Value zeros_like(const Value& v) {
  if (v.is_tensor()) return Value::tensor(zeros_tensor(v.as_tensor().dtype, v.as_tensor().sizes));
  if (!trace::is_numeric(v)) return v;
  switch (trace::kind_of(v)) {
    case Kind::Tensor: return tensor_value(ops::zeros(trace::operand_of(v).type()));
    case Kind::Int: return Value::integer(0);
    case Kind::Float: return Value::floating(0);
    case Kind::Bool: break;
  }
  return v;
}

Value tree_zeros(Call& c) {
  for_each_leaf(c[0], "tree-map-zeros", [](const Value&) {});
  return map_leaves(c[0], zeros_like, Nodes::Lists);
}

Value flatten(Call& c) {
  std::vector<Value> leaves;
  for_each_leaf(c[0], "flatten", [&](const Value& leaf) { leaves.push_back(leaf); });
  return Value::list({Value::list(std::move(leaves)), Value::nil()});
}

const BuiltinDef kBuiltins[] = {
    {.name = "tree-map",
     .category = "Trees",
     .signature = "(tree-map f tree …)",
     .doc = "The tree with (f leaf) in place of every leaf of its dicts and lists; with several trees of the same "
            "structure (f leaf leaf …).",
     .examples = {{"(tree-map (fn [t] (* 2 t)) {:a 3 :b '[1 2.5]})", "{:a 6, :b [2, 5.0]}"},
                  {"(tree-map - {:w 5 :b [1 2]} {:w 1 :b [1 1]})", "{:b [0. 1.], :w 4}"}},
     .min_args = 2,
     .run = tree_map,
     .arity_text = "tree-map requires at least 2 arguments: (tree-map fn tree ...)"},
    {.name = "tree-map-path",
     .category = "Trees",
     .signature = "(tree-map-path f tree …)",
     .doc = "Like tree-map, but f gets the leaf's path first: its keys and positions with dots between them, as files "
            "name them.",
     .examples = {{"(tree-map-path (fn [path x] path) {:a 3 :b (list 1 {:c 2})})", "{:a a, :b ['b.0', {:c b.1.c}]}"}},
     .min_args = 2,
     .run = tree_map_path,
     .arity_text = "tree-map-path requires at least 2 arguments: (tree-map-path fn tree ...)"},
    {.name = "tree-reduce",
     .category = "Trees",
     .signature = "(tree-reduce f tree init)",
     .doc = "Folds the leaves depth first, dict entries in key order: f gets the accumulator and a leaf.",
     .examples = {{"(tree-reduce (fn [a l] (+ a (sum l))) {:a [1 2] :b {:c 3}} 0)", "6.0"}},
     .min_args = 3,
     .max_args = 3,
     .run = tree_reduce,
     .arity_text = "tree-reduce requires 3 arguments: (tree-reduce fn tree init)"},
    {.name = "tree-map-zeros",
     .category = "Trees",
     .signature = "(tree-map-zeros tree)",
     .doc = "The tree with zeros of the same shape and dtype in place of its tensors and numbers.",
     .examples = {{"(tree-map-zeros {:w [1 2] :n 7 :s \"x\"})", "{:n 0, :s x, :w [0. 0.]}"}},
     .min_args = 1,
     .max_args = 1,
     .run = tree_zeros},
    {.name = "flatten",
     .category = "Trees",
     .signature = "(flatten tree)",
     .doc = "[leaves nil]: the leaves depth first, dict entries in key order.",
     .examples = {{"(flatten {:b 2 :a '[3 \"x\"]})", "[[3, 'x', 2], nil]"}},
     .min_args = 1,
     .max_args = 1,
     .run = flatten,
     .arity_text = "flatten requires 1 argument: (flatten tree)"},
};

}  // namespace

std::span<const BuiltinDef> tree_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins
