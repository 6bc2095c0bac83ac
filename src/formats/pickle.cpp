#include "formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "formats/byte_reader.h"
#include "formats/pickle_node.h"

namespace sheaf::formats {
namespace {

using pickle::Kind;
using pickle::Node;

[[noreturn]] void fail(const std::string& message) { throw runtime_error("pickle: " + message); }

// Python's pickle stack machine, restricted to opcodes that build data.
class Machine {
 public:
  Machine(std::string_view bytes, const pickle::PersistentLoad* load) : in_(bytes), nodes_(bytes.size()), load_(load) {}

  Value run(Objects objects) {
    while (step()) {
    }
    return pickle::to_value(pop(), objects);
  }
  size_t used() const { return in_.position(); }

 private:
  // Executes one opcode; returns false after STOP.
  bool step() {
    size_t offset = in_.position();
    auto op = in_.number<uint8_t>();
    switch (op) {
      case 0x80: {  // PROTO
        auto version = in_.number<uint8_t>();
        if (version > 5) fail(fmt::format("unsupported protocol {}", version));
        break;
      }
      case 0x95: in_.number<uint64_t>(); break;  // FRAME: we need no framing
      case '.': return false;
      case '(': marks_.push_back(stack_.size()); break;
      case '}': push(nodes_.make(Kind::Dict)); break;
      case ']': push(nodes_.make(Kind::List)); break;
      case ')': push(nodes_.make(Kind::Tuple)); break;
      case 'N': push(nodes_.make(Kind::Nil)); break;
      case 0x88: push_int(Kind::Bool, 1); break;
      case 0x89: push_int(Kind::Bool, 0); break;
      case 'J': push_int(Kind::Int, in_.number<int32_t>()); break;
      case 'K': push_int(Kind::Int, in_.number<uint8_t>()); break;
      case 'M': push_int(Kind::Int, in_.number<uint16_t>()); break;
      case 0x8b: {  // LONG4
        auto length = in_.number<uint32_t>();
        if (length > 255) fail("an int does not fit 64 bits");
        push_int(Kind::Int, long_integer(static_cast<uint8_t>(length)));
        break;
      }
      case 0x8a: push_int(Kind::Int, long_integer(in_.number<uint8_t>())); break;
      case 'G': push_float(); break;
      case 0x8c: push_bytes(Kind::Text, in_.number<uint8_t>()); break;
      case 'X': push_bytes(Kind::Text, in_.number<uint32_t>()); break;
      case 0x8d: push_bytes(Kind::Text, in_.number<uint64_t>()); break;
      case 'U': push_bytes(Kind::Text, in_.number<uint8_t>()); break;
      case 'T': push_bytes(Kind::Text, in_.number<uint32_t>()); break;
      case 'C': push_bytes(Kind::Bytes, in_.number<uint8_t>()); break;
      case 'B': push_bytes(Kind::Bytes, in_.number<uint32_t>()); break;
      case 0x8e:
      case 0x96: push_bytes(Kind::Bytes, in_.number<uint64_t>()); break;  // BINBYTES8, BYTEARRAY8
      case 's': set_items(stack_.size() < 2 ? 0 : stack_.size() - 2); break;
      case 'u': set_items(pop_mark()); break;
      case 'a': append_items(stack_.empty() ? 0 : stack_.size() - 1); break;
      case 'e': append_items(pop_mark()); break;
      case 't': make_sequence(Kind::Tuple, pop_mark()); break;
      case 0x85:
      case 0x86:
      case 0x87: {  // TUPLE1 … TUPLE3
        size_t n = op - 0x84;
        need(n);
        make_sequence(Kind::Tuple, stack_.size() - n);
        break;
      }
      case 'c': {
        std::string module(in_.line());
        push(nodes_.text(Kind::Global, module + "." + std::string(in_.line())));
        break;
      }
      case 0x93: stack_global(); break;
      case 'R': {
        Node* args = pop();
        Node* callee = pop();
        push(naming_tensors([&] { return pickle::apply_reduce(nodes_, callee, args); }));
        break;
      }
      case 'b': {
        Node* state = pop();
        pickle::apply_build(nodes_, top(), state);
        break;
      }
      case 'Q': {  // BINPERSID
        if (!load_) fail("the file refers to storages that are not in it");
        Node* id = pop();
        push(naming_tensors([&] { return (*load_)(nodes_, id); }));
        break;
      }
      case 0x92: pop(); [[fallthrough]];  // NEWOBJ_EX: NEWOBJ with a dict of arguments
      case 0x81: {                        // NEWOBJ: an uninitialised instance
        pop();
        Node* callee = pop();
        push(pickle::apply_reduce(nodes_, callee, nodes_.make(Kind::Tuple)));
        break;
      }
      case '0': pop(); break;
      case 0x8f: push(nodes_.make(Kind::List)); break;          // EMPTY_SET
      case 0x90: append_items(pop_mark()); break;               // ADDITEMS
      case 0x91: make_sequence(Kind::List, pop_mark()); break;  // FROZENSET
      case 'q': memo_[in_.number<uint8_t>()] = top(); break;
      case 'r': memo_[in_.number<uint32_t>()] = top(); break;
      case 0x94: memo_[static_cast<uint32_t>(memo_.size())] = top(); break;
      case 'h': push(recall(in_.number<uint8_t>())); break;
      case 'j': push(recall(in_.number<uint32_t>())); break;
      default:
        fail(fmt::format("unsupported opcode 0x{:02x} ('{}') at offset {}", op,
                         op >= 0x20 && op < 0x7f ? std::string(1, static_cast<char>(op)) : "?", offset));
    }
    return true;
  }

  // Items below the last mark belong to the opcode that set it.
  void need(size_t n) {
    if (stack_.size() - (marks_.empty() ? 0 : marks_.back()) < n) fail("the stack ran empty");
  }
  void push(Node* n) { stack_.push_back(n); }
  Node* top() {
    need(1);
    return stack_.back();
  }
  Node* pop() {
    Node* n = top();
    stack_.pop_back();
    return n;
  }
  size_t pop_mark() {
    if (marks_.empty()) fail("a mark is missing");
    size_t at = marks_.back();
    marks_.pop_back();
    return at;
  }
  Node* recall(uint32_t index) {
    auto it = memo_.find(index);
    if (it == memo_.end()) fail(fmt::format("nothing was stored as number {}", index));
    return it->second;
  }

  void push_int(Kind kind, int64_t v) {
    Node* n = nodes_.make(kind);
    n->integer = v;
    push(n);
  }
  void push_float() {
    auto bits = __builtin_bswap64(in_.number<uint64_t>());  // the one big-endian number of the format
    Node* n = nodes_.make(Kind::Float);
    n->number = __builtin_bit_cast(double, bits);
    push(n);
  }
  void push_bytes(Kind kind, uint64_t length) { push(nodes_.text(kind, std::string(in_.take(length)))); }

  // Little-endian two's complement of any length.
  int64_t long_integer(uint8_t length) {
    std::string_view bytes = in_.take(length);
    uint64_t v = 0;
    char fill = length > 0 && static_cast<signed char>(bytes[length - 1]) < 0 ? '\xff' : '\0';
    for (int i = 0; i < std::max<int>(length, 8); ++i) {
      char b = i < length ? bytes[i] : fill;
      if (i < 8)
        v |= static_cast<uint64_t>(static_cast<unsigned char>(b)) << (8 * i);
      else if (b != fill)
        fail("an int does not fit 64 bits");
    }
    if (length > 8 && (static_cast<int64_t>(v) < 0) != (fill != '\0')) fail("an int does not fit 64 bits");
    return static_cast<int64_t>(v);
  }

  // Runs `make` for a tensor or its storage. Its key will be the topmost text, below the functions still waiting for
  // their arguments; list items have none.
  template <class F>
  Node* naming_tensors(F&& make) {
    try {
      return make();
    } catch (const pickle::TensorFault& fault) {
      auto at = std::find_if(stack_.rbegin(), stack_.rend(), [](const Node* n) { return n->kind != Kind::Global; });
      bool keyed = at != stack_.rend() && (*at)->kind == Kind::Text;
      throw runtime_error(fmt::format(
          "torch: {}: {}", keyed ? "tensor '" + (*at)->text + "'" : "a tensor of storage '" + fault.storage + "'",
          fault.what));
    }
  }

  // The object to which an opcode adds is directly below its items.
  Node* target_below(size_t from) {
    if (from == 0 || from > stack_.size() || (!marks_.empty() && from <= marks_.back())) fail("the stack ran empty");
    return stack_[from - 1];
  }
  void set_items(size_t from) {
    Node* target = target_below(from);
    if ((stack_.size() - from) % 2 != 0) fail("a dict key without a value");
    if (target->kind == Kind::Dict)
      target->items.insert(target->items.end(), stack_.begin() + from, stack_.end());
    else if (target->kind != Kind::Object)
      fail("items are set on something else than a dict");
    stack_.resize(from);
  }
  void append_items(size_t from) {
    Node* target = target_below(from);
    if (target->kind == Kind::List)
      target->items.insert(target->items.end(), stack_.begin() + from, stack_.end());
    else if (target->kind != Kind::Object)
      fail("items are appended to something else than a list");
    stack_.resize(from);
  }
  void make_sequence(Kind kind, size_t from) {
    if (from > stack_.size()) fail("the stack ran empty");
    Node* n = nodes_.make(kind);
    n->items.assign(stack_.begin() + from, stack_.end());
    stack_.resize(from);
    push(n);
  }
  void stack_global() {
    Node* name = pop();
    Node* module = pop();
    if (name->kind != Kind::Text || module->kind != Kind::Text) fail("a global's name is not text");
    nodes_.spend(module->text.size() + name->text.size());
    push(nodes_.text(Kind::Global, module->text + "." + name->text));
  }

  ByteReader in_;
  pickle::Nodes nodes_;
  const pickle::PersistentLoad* load_;
  std::vector<Node*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Node*> memo_;
};

}  // namespace

Value parse_pickle(std::string_view bytes, Objects objects) { return Machine(bytes, nullptr).run(objects); }

Value parse_pickle(std::string_view bytes, Objects objects, const pickle::PersistentLoad& load, size_t* used) {
  Machine machine(bytes, &load);
  Value v = machine.run(objects);
  if (used) *used = machine.used();
  return v;
}

}  // namespace sheaf::formats
