// Whole trees of dicts and lists: the leaves are everything else, a tuple included.
#include "value/tree.h"

#include <fmt/format.h>

#include "builtins/core/elements.h"
#include "builtins/core/missing.h"
#include "builtins/data/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// tree-map recurses, with calls of the program inside; data may nest deeper than the stack. All say so alike.
constexpr int kMaxDepth = 4000;

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

std::string below(const std::string& path, std::string_view part) {
  return path.empty() ? std::string(part) : path + "." + std::string(part);
}

// `path`, when given, is where the trees are: it becomes the first argument of f.
Value map_trees(Caller& caller, const Value& f, std::vector<Value> trees, int depth,
                const std::string* path = nullptr) {
  if (depth > kMaxDepth) throw too_deep("tree-map");
  auto child_path = [&](std::string_view part) { return path ? below(*path, part) : std::string(); };
  const Value first = trees[0];
  if (first.is_dict()) {
    std::vector<DictEntry> out;
    for (const Value& t : trees)
      if (!t.is_dict()) throw structure_mismatch(first, t);
    for (const DictEntry& e : first.as_dict().entries()) {
      std::vector<Value> children;
      for (const Value& t : trees) {
        const Value* child = t.as_dict().find(e.key);
        if (!child) throw missing_key(e.key, t.as_dict());
        children.push_back(*child);
      }
      std::string inner = child_path(e.key.str());
      out.push_back({e.key, map_trees(caller, f, std::move(children), depth + 1, path ? &inner : nullptr)});
    }
    return make_dict(std::move(out));
  }
  if (first.is_list()) {
    std::vector<Value> out;
    for (const Value& t : trees) {
      if (!t.is_list()) throw structure_mismatch(first, t);
      if (t.items().size() != first.items().size())
        throw runtime_error("tree-map: list length mismatch")
            .hint(fmt::format("lists of {} and {} items meet", first.items().size(), t.items().size()));
    }
    for (size_t i = 0; i < first.items().size(); ++i) {
      std::vector<Value> children;
      for (const Value& t : trees)
        children.push_back(t.items()[i]);
      std::string inner = child_path(std::to_string(i));
      out.push_back(map_trees(caller, f, std::move(children), depth + 1, path ? &inner : nullptr));
    }
    return Value::list(std::move(out));
  }
  if (path) trees.insert(trees.begin(), Value::string(*path));
  return caller.call(f, std::move(trees));
}

Value tree_map(Call& c) {
  Value f = std::move(c[0]);
  c.args.erase(c.args.begin());
  return map_trees(c.caller, f, std::move(c.args), 0);
}

Value tree_map_path(Call& c) {
  Value f = std::move(c[0]);
  c.args.erase(c.args.begin());
  std::string root;
  return map_trees(c.caller, f, std::move(c.args), 0, &root);
}

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
