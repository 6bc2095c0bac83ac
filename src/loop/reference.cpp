#include "loop/reference.h"

#include <array>
#include <cstring>

#include "scalar/math/elementary.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::loop {
namespace {

using namespace scalar;

// A scalar of any type in the low bits.
using Raw = uint64_t;

template <class T>
T get(Raw r) {
  T x;
  std::memcpy(&x, &r, sizeof x);
  return x;
}
template <class T>
Raw put(T x) {
  Raw r = 0;
  std::memcpy(&r, &x, sizeof x);
  return r;
}

// Calls f.operator()<op>() for a run-time op in [first, last].
template <Op first, Op last, class F>
void dispatch(Op op, F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int base = static_cast<int>(first);
    ((op == static_cast<Op>(base + i) ? f.template operator()<static_cast<Op>(base + i)>() : void()), ...);
  }(std::make_integer_sequence<int, static_cast<int>(last) - static_cast<int>(first) + 1>{});
}

struct Interpreter {
  const Kernel& k;
  std::span<std::byte* const> buffers;
  CheckRecord& check;
  routines::Arithmetic arithmetic;
  std::vector<Raw> values;
  // Leaves (Index, Result) that statements set, by axis and by reduction.
  std::vector<std::vector<ValueId>> indices, results;

  Interpreter(const Kernel& kernel, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
              CheckRecord& check, routines::Arithmetic arithmetic)
      : k(kernel),
        buffers(buffers),
        check(check),
        arithmetic(arithmetic),
        values(kernel.values.size()),
        indices(kernel.num_axes),
        results(kernel.num_reductions) {
    for (ValueId v = 0; v < k.values.size(); ++v) {
      const Inst& inst = k.values[v];
      if (inst.op == Op::Const) values[v] = static_cast<Raw>(inst.imm);
      if (inst.op == Op::Size) values[v] = static_cast<Raw>(sizes[inst.imm]);
      if (inst.op == Op::Index) indices[inst.imm].push_back(v);
      if (inst.op == Op::Result) results[inst.imm].push_back(v);
    }
  }

  int64_t integer(ValueId v) const { return static_cast<int64_t>(values[v]); }

  void let(ValueId v) {
    const Inst& inst = k.values[v];
    auto arg = [&](int i) { return inst.args[i] == kNoValue ? Raw{0} : values[inst.args[i]]; };
    switch (inst.op) {
      case Op::Const:
      case Op::Size:
      case Op::Index:
      case Op::Result: return;
      case Op::Load: {
        int width = size_bytes(inst.type);
        Raw r = 0;
        std::memcpy(&r, buffers[inst.imm] + static_cast<int64_t>(arg(0)) * width, width);
        values[v] = r;
        return;
      }
      case Op::Select:
      case Op::Seldom: values[v] = get<bool>(arg(0)) ? arg(1) : arg(2); return;
      case Op::Bitcast: values[v] = arg(0); return;
      case Op::Convert:
        visit_dtype(inst.from, [&]<class From>(std::type_identity<From>) {
          visit_dtype(inst.type,
                      [&]<class To>(std::type_identity<To>) { values[v] = put(convert<To>(get<From>(arg(0)))); });
        });
        return;
      default: break;
    }
    bool comparison = inst.op >= Op::Lt && inst.op <= Op::Ne;
    visit_dtype(comparison ? inst.from : inst.type, [&]<class T>(std::type_identity<T>) {
      if constexpr (kIsCompute<T>) {
        INVARIANT(is_defined<T>(inst.op), name_of(inst.op) << " is not defined for " << sheaf::name_of(inst.type));
        T a = get<T>(arg(0)), b = get<T>(arg(1)), c = get<T>(arg(2));
        dispatch<Op::Add, Op::ErfInv>(inst.op, [&]<Op op>() {
          if constexpr (op == Op::Select || op == Op::Seldom || op == Op::Convert || op == Op::Bitcast)
            return;
          else if constexpr (!is_defined<T>(op))
            return;
          else if constexpr (op >= Op::Lt && op <= Op::Ne)
            values[v] = put(compare<op>(a, b));
          else if constexpr (op >= Op::Exp)
            values[v] = put(elementary<op>(a, b));
          else
            values[v] = put(apply<op>(a, b, c));
        });
      } else {
        INVARIANT(false, name_of(inst.op) << " on the storage type " << sheaf::name_of(inst.type));
      }
    });
  }

  template <Combine c, class T>
  T reduce_value(const Stmt& s, int64_t n) {
    std::array<T, 64> pending;  // block results: one for each bit of the number of blocks so far
    int count = 0;
    int64_t num_blocks = 0;
    for (int64_t begin = 0; begin < n; begin += kReduceBlock) {
      std::array<T, kReduceLanes> lanes;
      lanes.fill(identity<c, T>());
      for (int64_t i = begin; i < std::min(n, begin + kReduceBlock); ++i) {
        T& lane = lanes[(i - begin) % kReduceLanes];
        lane = combine<c>(lane, element<T>(s, i));
      }
      for (int half = kReduceLanes / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
          lanes[i] = combine<c>(lanes[i], lanes[i + half]);
      T total = lanes[0];
      for (int64_t bits = num_blocks++; bits & 1; bits >>= 1)
        total = combine<c>(pending[--count], total);
      pending[count++] = total;
    }
    if (count == 0) return identity<c, T>();
    T total = pending[--count];
    while (count > 0)
      total = combine<c>(pending[--count], total);
    return total;
  }

  template <Combine c, class T>
  int64_t reduce_position(const Stmt& s, int64_t n) {
    int64_t position = 0;
    T best{};
    for (int64_t i = 0; i < n; ++i) {
      T x = element<T>(s, i);
      if (i == 0 || replaces<c>(x, best)) best = x, position = i;
    }
    return position;
  }

  template <class T>
  T element(const Stmt& s, int64_t i) {
    for (ValueId v : indices[s.axis])
      values[v] = static_cast<Raw>(i);
    block(s.body);
    return get<T>(values[s.value]);
  }

  void reduce(const Stmt& s) {
    int64_t n = integer(s.extent);
    Raw result = visit_dtype(k.reduction_types[s.id], [&]<class T>(std::type_identity<T>) -> Raw {
      if constexpr (kIsCompute<T>) {
        switch (s.combine) {
          case Combine::Sum: return put(reduce_value<Combine::Sum, T>(s, n));
          case Combine::Prod: return put(reduce_value<Combine::Prod, T>(s, n));
          case Combine::Max: return put(reduce_value<Combine::Max, T>(s, n));
          case Combine::Min: return put(reduce_value<Combine::Min, T>(s, n));
          case Combine::ArgMax: return put(reduce_position<Combine::ArgMax, T>(s, n));
          case Combine::ArgMin: return put(reduce_position<Combine::ArgMin, T>(s, n));
        }
      }
      INVARIANT(false, "reduction of a storage type");
      return 0;
    });
    for (ValueId v : results[s.id])
      values[v] = result;
  }

  void stmt(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Let: let(s.value); break;
      case Stmt::Loop: {
        int64_t n = integer(s.extent);
        for (int64_t i = 0; i < n; ++i) {
          for (ValueId v : indices[s.axis])
            values[v] = static_cast<Raw>(i);
          block(s.body);
        }
        break;
      }
      case Stmt::Reduce: reduce(s); break;
      case Stmt::Store: {
        int width = size_bytes(k.buffers[s.id].dtype);
        std::memcpy(buffers[s.id] + integer(s.offset) * width, &values[s.value], width);
        break;
      }
      case Stmt::Check:
        if (!get<bool>(values[s.value]) && !check.failed()) check = {s.id, integer(s.offset)};
        break;
      case Stmt::Call: {
        std::vector<std::byte*> pointers;
        std::vector<int64_t> arguments;
        for (int32_t b : s.buffers)
          pointers.push_back(buffers[b]);
        for (ValueId a : s.arguments)
          arguments.push_back(integer(a));
        routines::Routine routine = routines::find_routine(s.routine);
        INVARIANT(routine, "no routine " << s.routine);
        routine({pointers, arithmetic}, arguments);
        break;
      }
    }
  }

  void block(const Block& b) {
    for (const Stmt& s : b)
      stmt(s);
  }
};

}  // namespace

void run_reference(const Kernel& kernel, std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                   CheckRecord& check, routines::Arithmetic arithmetic) {
  Interpreter(kernel, buffers, sizes, check, arithmetic).block(kernel.body);
}

}  // namespace sheaf::loop
