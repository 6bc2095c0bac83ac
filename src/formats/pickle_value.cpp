// Converts pickle nodes to values, without recursion: files nest to any depth.
#include <fmt/format.h>

#include <unordered_map>

#include "formats/pickle_node.h"
#include "support/error.h"
#include "value/dict.h"

namespace sheaf::formats::pickle {
namespace {

[[noreturn]] void fail(const std::string& message) { throw runtime_error("pickle: " + message); }

Name key_of(const Node* n) {
  if (n->kind == Kind::Text) return Name(n->text);
  if (n->kind == Kind::Int) return Name(std::to_string(n->integer));
  fail("a dict key is neither a string nor an int");
}

class Converter {
 public:
  explicit Converter(Objects objects) : objects_(objects) {}

  Value convert(Node* root) {
    visit(root);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next < top.node->items.size()) {
        bool is_key = top.node->kind == Kind::Dict && top.next % 2 == 0;
        Node* child = top.node->items[top.next++];
        if (!is_key) visit(child);  // may grow open_, so `top` is not used after it
        continue;
      }
      Node* node = top.node;
      open_.pop_back();
      done_[node] = assemble(node);
    }
    return done_.at(root);
  }

 private:
  struct Open {
    Node* node;
    size_t next = 0;
  };

  // Creates a leaf's value, or opens a container.
  void visit(Node* n) {
    bool container = n->kind == Kind::List || n->kind == Kind::Tuple || n->kind == Kind::Dict;
    auto [it, fresh] = done_.try_emplace(n);
    if (!fresh) {
      if (container && it->second.is_nil()) fail("a value contains itself");
      return;
    }
    if (container)
      open_.push_back({n});
    else
      it->second = leaf(n);
  }

  Value leaf(const Node* n) {
    switch (n->kind) {
      case Kind::Bool: return Value::boolean(n->integer != 0);
      case Kind::Int: return Value::integer(n->integer);
      case Kind::Float: return Value::floating_from(n->number);
      case Kind::Text: return Value::string(n->text);
      case Kind::Bytes: {
        std::vector<Value> items;
        items.reserve(n->text.size());
        for (unsigned char c : n->text)
          items.push_back(Value::integer(c));
        return Value::list(std::move(items));
      }
      case Kind::Array:
        if (!n->tensor) fail("an array without its data");
        return Value::tensor(*n->tensor);
      case Kind::Global:
        if (auto d = torch_dtype_named(n->text)) return Value::keyword(Name(name_of(*d)));
        return no_data("the class or function " + n->text);
      case Kind::Type:
        if (n->type) return Value::keyword(Name(name_of(n->type->dtype)));
        return no_data("the NumPy dtype '" + n->text + "', which is not held here");
      case Kind::Storage: return no_data("a " + n->text + " without a tensor");
      case Kind::Object: return no_data("an object of class " + n->text);
      default: return Value::nil();
    }
  }

  Value no_data(const std::string& what) const {
    if (objects_ == Objects::Skip) return Value::nil();
    std::string key = path();
    throw runtime_error(fmt::format("pickle: {} is {}; only tensors, numbers, text and containers of them are read",
                                    key.empty() ? "the whole" : "'" + key + "'", what))
        .hint("in Python, save its data instead: model.state_dict(), vars(args), …")
        .hint("(io \"load\" path :objects :skip) reads nil in its place");
  }

  // The path of the current node: "optimizer.param_groups.0.lr".
  std::string path() const {
    std::string out;
    for (const Open& o : open_) {
      if (!out.empty()) out += '.';
      bool dict = o.node->kind == Kind::Dict;
      out += dict ? key_of(o.node->items[o.next - 2]).str() : std::to_string(o.next - 1);
    }
    constexpr size_t kLongest = 200;
    return out.size() > kLongest ? "…" + out.substr(out.size() - kLongest) : out;
  }

  Value assemble(const Node* n) {
    if (n->kind == Kind::Dict) {
      std::vector<DictEntry> entries;
      entries.reserve(n->items.size() / 2);
      for (size_t i = 0; i < n->items.size(); i += 2)
        entries.push_back({key_of(n->items[i]), done_.at(n->items[i + 1])});
      size_t given = entries.size();
      Value out = make_dict(std::move(entries));
      if (out.as_dict().size() < given) check_spelling(n);
      return out;
    }
    std::vector<Value> items;
    items.reserve(n->items.size());
    for (Node* item : n->items)
      items.push_back(done_.at(item));
    return n->kind == Kind::Tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }

  // Keys are text here, so 1 and "1" would collide.
  static void check_spelling(const Node* dict) {
    std::unordered_map<Name, Kind, NameHash> kinds;
    for (size_t i = 0; i < dict->items.size(); i += 2) {
      Name key = key_of(dict->items[i]);
      auto [it, fresh] = kinds.emplace(key, dict->items[i]->kind);
      if (!fresh && it->second != dict->items[i]->kind)
        fail("a dict has both the int and the text '" + key.str() + "' as keys");
    }
  }

  std::unordered_map<const Node*, Value> done_;  // nil for a container that is still open
  std::vector<Open> open_;
  Objects objects_;
};

}  // namespace

Value to_value(Node* root, Objects objects) { return Converter(objects).convert(root); }

}  // namespace sheaf::formats::pickle
