#include "compiler/control.h"

#include <cstring>

#include "compiler/compile.h"

namespace sheaf::compiler {
namespace {

using graph::Nested;
using graph::Node;
using graph::TensorType;
using Pointers = std::span<std::byte* const>;

int64_t bytes_of(const TensorType& t) { return checked_num_elems(to_dims(t.sizes)) * size_bytes(t.dtype); }

// A sub-graph that runs on memory given to it.
class Part {
 public:
  explicit Part(const graph::Graph& g) : code_(compile(g, true)) {}
  int64_t scratch_bytes() const { return static_cast<int64_t>(code_.executable.scratch_bytes); }
  void run(Pointers inputs, Pointers outputs, std::byte* scratch) const {
    try {
      code_.tier->watch(code_.executable, [&] { code_.executable.run_at({inputs, outputs, scratch}); });
    } catch (const runtime::CheckFailure& f) {
      throw check_error(code_, f);
    }
  }

 private:
  Compiled code_;
};

// Scratch and other launches' memory is reused, so the call gets copies it may keep.
class HostKernel final : public runtime::Kernel {
 public:
  explicit HostKernel(const Node& n) : call_(n.host) {
    for (const auto& in : n.inputs)
      types_.push_back(in.type());
  }
  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    std::vector<Tensor> values;
    for (size_t i = 0; i < types_.size(); ++i) {
      values.push_back(empty_tensor(types_[i].dtype, to_dims(types_[i].sizes)));
      if (int64_t n = bytes_of(types_[i])) std::memcpy(values.back().bytes(), buffers[i], static_cast<size_t>(n));
    }
    (*call_)(values);
    return -1;
  }

 private:
  std::shared_ptr<const graph::HostCall> call_;
  std::vector<TensorType> types_;
};

class CondKernel final : public runtime::Kernel {
 public:
  explicit CondKernel(const Node& n)
      : yes_(*n.subgraphs[0]), no_(*n.subgraphs[1]), inputs_(n.inputs.size()), outputs_(n.types.size()) {}
  int64_t scratch_bytes() const { return std::max(yes_.scratch_bytes(), no_.scratch_bytes()); }
  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    const Part& taken = *buffers[0] != std::byte{0} ? yes_ : no_;
    taken.run(buffers.subspan(1, inputs_ - 1), buffers.subspan(inputs_, outputs_), buffers.back());
    return -1;
  }

 private:
  Part yes_, no_;
  size_t inputs_, outputs_;
};

class CallKernel final : public runtime::Kernel {
 public:
  explicit CallKernel(const Node& n) : body_(*n.subgraphs[0]), inputs_(n.inputs.size()), outputs_(n.types.size()) {}
  int64_t scratch_bytes() const { return body_.scratch_bytes(); }
  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    body_.run(buffers.subspan(0, inputs_), buffers.subspan(inputs_, outputs_), buffers.back());
    return -1;
  }

 private:
  Part body_;
  size_t inputs_, outputs_;
};

class UnstackKernel final : public runtime::Kernel {
 public:
  explicit UnstackKernel(const Node& n) : rows_(n.types.size()), bytes_(rows_ ? bytes_of(n.types[0]) : 0) {}
  int64_t scratch_bytes() const { return 0; }
  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    for (size_t i = 0; i < rows_ && bytes_; ++i)
      std::memcpy(buffers[1 + i], buffers[0] + static_cast<int64_t>(i) * bytes_, static_cast<size_t>(bytes_));
    return -1;
  }

 private:
  size_t rows_;
  int64_t bytes_;
};

class StackKernel final : public runtime::Kernel {
 public:
  explicit StackKernel(const Node& n) : rows_(n.inputs.size()), bytes_(bytes_of(n.inputs[0].type())) {}
  int64_t scratch_bytes() const { return 0; }
  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    for (size_t i = 0; i < rows_ && bytes_; ++i)
      std::memcpy(buffers[rows_] + static_cast<int64_t>(i) * bytes_, buffers[i], static_cast<size_t>(bytes_));
    return -1;
  }

 private:
  size_t rows_;
  int64_t bytes_;
};

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Buffers for values of some types, one after the other.
class Room {
 public:
  explicit Room(std::span<const TensorType> types) {
    for (const TensorType& t : types) {
      sizes_.push_back(bytes_of(t));
      offsets_.push_back(total_);
      total_ += aligned(sizes_.back());
    }
  }
  int64_t total() const { return total_; }
  size_t count() const { return sizes_.size(); }
  void pointers(std::byte* base, std::vector<std::byte*>& out) const {
    for (int64_t o : offsets_)
      out.push_back(base + o);
  }
  void copy(const std::vector<std::byte*>& from, const std::vector<std::byte*>& to) const {
    for (size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i] && from[i] != to[i]) std::memcpy(to[i], from[i], static_cast<size_t>(sizes_[i]));
  }

 private:
  std::vector<int64_t> sizes_, offsets_;
  int64_t total_ = 0;
};

std::vector<std::byte*> slice(Pointers p, size_t first, size_t count) {
  return {p.begin() + static_cast<ptrdiff_t>(first), p.begin() + static_cast<ptrdiff_t>(first + count)};
}

// Turns write their rows in place; carries go to and fro between two rooms so that the last turn ends in the outputs.
class ScanKernel final : public runtime::Kernel {
 public:
  explicit ScanKernel(const Node& n)
      : body_(*n.subgraphs[0]),
        turns_(n.attrs.integer("turns")),
        reverse_(n.attrs.flag("reverse")),
        inputs_(n.inputs.size()),
        xs_(static_cast<size_t>(n.attrs.integer("xs"))),
        carries_(std::span(n.types).first(static_cast<size_t>(n.attrs.integer("carries")))) {
    for (size_t i = 0; i < xs_; ++i)
      x_bytes_.push_back(bytes_of(n.inputs[carries_.count() + i].type()) / std::max<int64_t>(turns_, 1));
    for (size_t i = carries_.count(); i < n.types.size(); ++i)
      y_bytes_.push_back(bytes_of(n.types[i]) / std::max<int64_t>(turns_, 1));
  }
  int64_t scratch_bytes() const { return 64 + carries_.total() + body_.scratch_bytes(); }

  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    size_t nc = carries_.count();
    std::byte* scratch = buffers.back();
    std::vector<std::byte*> from = slice(buffers, 0, nc), results = slice(buffers, inputs_, nc), other;
    carries_.pointers(scratch + 64, other);
    if (turns_ == 0) carries_.copy(from, results);
    std::vector<std::byte*> in(1 + inputs_), out(nc + y_bytes_.size());
    in[0] = scratch;
    for (size_t i = nc + xs_; i < inputs_; ++i)
      in[1 + i] = buffers[i];
    for (int64_t t = 0; t < turns_; ++t) {
      int64_t row = reverse_ ? turns_ - 1 - t : t;
      std::memcpy(scratch, &row, sizeof row);
      const std::vector<std::byte*>& to = (turns_ - 1 - t) % 2 == 0 ? results : other;
      std::copy(from.begin(), from.end(), in.begin() + 1);
      std::copy(to.begin(), to.end(), out.begin());
      for (size_t i = 0; i < xs_; ++i)
        in[1 + nc + i] = buffers[nc + i] + row * x_bytes_[i];
      for (size_t i = 0; i < y_bytes_.size(); ++i)
        out[nc + i] = buffers[inputs_ + nc + i] + row * y_bytes_[i];
      body_.run(in, out, scratch + 64 + carries_.total());
      from = to;
    }
    return -1;
  }

 private:
  Part body_;
  int64_t turns_;
  bool reverse_;
  size_t inputs_, xs_;
  Room carries_;
  std::vector<int64_t> x_bytes_, y_bytes_;
};

// The loop itself, and for its reverse a second one over the carries it kept.
class WhileKernel final : public runtime::Kernel {
 public:
  explicit WhileKernel(const Node& n)
      : test_(*n.subgraphs[0]),
        body_(*n.subgraphs[1]),
        inputs_(n.subgraphs[0]->inputs.size()),
        carries_(types_of(n)),
        adjoints_(reversed(n) ? std::span(n.types) : std::span<const TensorType>()) {
    if (reversed(n)) turn_ = std::make_unique<Part>(*n.subgraphs[2]);
  }
  int64_t scratch_bytes() const {
    int64_t parts = std::max(test_.scratch_bytes(), body_.scratch_bytes());
    if (turn_) parts = std::max(parts, turn_->scratch_bytes());
    return 64 + 2 * carries_.total() + adjoints_.total() + parts;
  }

  int run(Pointers buffers, std::span<const int64_t>, int64_t&) const override {
    size_t nc = carries_.count();
    std::byte* scratch = buffers.back();
    std::byte* inner = scratch + 64 + 2 * carries_.total() + adjoints_.total();
    std::vector<std::byte*> in = slice(buffers, 0, inputs_), rooms[2];
    carries_.pointers(scratch + 64, rooms[0]);
    carries_.pointers(scratch + 64 + carries_.total(), rooms[1]);
    std::vector<Ref<Buffer>> tape;
    std::byte* answer = scratch;
    for (size_t t = 0;; ++t) {
      test_.run(in, {&answer, 1}, inner);
      if (*answer == std::byte{0}) break;
      const std::vector<std::byte*>& to = rooms[t % 2];
      if (turn_) keep(in, tape);
      body_.run(in, to, inner);
      std::copy(to.begin(), to.end(), in.begin());
    }
    if (!turn_) {
      carries_.copy(slice(in, 0, nc), slice(buffers, inputs_, nc));
      return -1;
    }
    size_t na = adjoints_.count();
    std::vector<std::byte*> from = slice(buffers, inputs_, na), results = slice(buffers, inputs_ + na, na), other;
    adjoints_.pointers(scratch + 64 + 2 * carries_.total(), other);
    if (tape.empty()) adjoints_.copy(from, results);
    std::vector<std::byte*> all(inputs_ + na);
    for (size_t i = nc; i < inputs_; ++i)
      all[i] = buffers[i];
    for (size_t t = tape.size(); t-- > 0;) {
      std::vector<std::byte*> kept;
      carries_.pointers(tape[t]->data(), kept);
      std::copy(kept.begin(), kept.end(), all.begin());
      std::copy(from.begin(), from.end(), all.begin() + static_cast<ptrdiff_t>(inputs_));
      const std::vector<std::byte*>& to = t % 2 == 0 ? results : other;
      turn_->run(all, to, inner);
      from = to;
      tape.pop_back();
    }
    return -1;
  }

 private:
  static bool reversed(const Node& n) { return n.subgraphs.size() == 3; }
  static std::vector<TensorType> types_of(const Node& n) {
    std::vector<TensorType> types;
    for (int64_t i = 0; i < n.attrs.integer("carries"); ++i)
      types.push_back(n.inputs[static_cast<size_t>(i)].type());
    return types;
  }
  void keep(const std::vector<std::byte*>& carries, std::vector<Ref<Buffer>>& tape) const {
    tape.push_back(Buffer::allocate(static_cast<size_t>(std::max<int64_t>(carries_.total(), 1))));
    std::vector<std::byte*> to;
    carries_.pointers(tape.back()->data(), to);
    carries_.copy(carries, to);
  }

  Part test_, body_;
  std::unique_ptr<Part> turn_;
  size_t inputs_;
  Room carries_, adjoints_;
};

template <class K>
NestedKernel make(const Node& n) {
  auto k = std::make_shared<K>(n);
  int64_t scratch = k->scratch_bytes();
  return {std::move(k), scratch};
}

}  // namespace

NestedKernel nested_kernel(const Node& n) {
  switch (n.op->nested) {
    case Nested::HostCall: return {std::make_shared<HostKernel>(n), 0};
    case Nested::Branch: return make<CondKernel>(n);
    case Nested::Call: return make<CallKernel>(n);
    case Nested::Scan: return make<ScanKernel>(n);
    case Nested::While: return make<WhileKernel>(n);
    case Nested::Unstack: return make<UnstackKernel>(n);
    case Nested::Stack: return make<StackKernel>(n);
    case Nested::None: break;
  }
  INVARIANT(false, "no kernel for " << n.op->name);
  return {};
}

}  // namespace sheaf::compiler
