// Compiles a kernel to steps.
//
// 1. Find the regions (loop/regions.h): code outside runs one scalar at a time, code inside one chunk at a time.
// 2. Classify every value in a region: uniform (the same for all its iterations), affine (i64, base + i * stride with
//    uniform base and stride; expanded to an array only if a step needs the elements) or varying. Uniform values that
//    depend on nothing inside are hoisted to the region's prologue.
// 3. Let contiguous loads point into memory instead of copying, and compute a value whose only use is a contiguous
//    store directly at the store's address.
// 4. Assign frame offsets to arrays by liveness.
#include <algorithm>
#include <functional>
#include <map>

#include "codegen/block/block.h"
#include "codegen/block/program.h"
#include "kernels/kernels.h"
#include "loop/regions.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::codegen::block {
namespace {

using loop::Block;
using loop::Inst;
using loop::Kernel;
using loop::kNoValue;
using loop::Mark;
using loop::Op;
using loop::Stmt;
using loop::ValueId;

struct Info {
  enum Kind : uint8_t { Uniform, Affine, Varying } kind = Uniform;
  Id base = kNoId, stride = kNoId;  // Affine; a load keeps its stride here
  bool in_body = false;             // computed inside the current region, so not in its prologue
  bool load = false;                // of affine elements
  bool computed = false;            // elementwise from its operands
  bool in_place = false;            // computed at the address of its store
};

class BlockCompiler {
 public:
  explicit BlockCompiler(const Kernel& k)
      : k_(k), p_(std::make_unique<BlockProgram>()), values_(k.values), info_(k.values.size()) {
    scalar_of_.assign(values_.size(), -1);
    array_of_.assign(values_.size(), -1);
    p_->sizes.assign(k.num_sizes, kNoId);
    index_.assign(k.num_axes, kNoId);
    result_.assign(k.num_reductions, kNoId);
    same_.resize(values_.size());
    for (ValueId v = 0; v < k.values.size(); ++v) {
      same_[v] = v;
      const Inst& i = k.values[v];
      Id* first = i.op == Op::Index    ? &index_[i.imm]
                  : i.op == Op::Result ? &result_[i.imm]
                  : i.op == Op::Size   ? &p_->sizes[i.imm]
                                       : nullptr;
      if (first) same_[v] = *first == kNoId ? * first = v : *first;
      if (i.op == Op::Const || i.op == Op::Size) scalar(v);
    }
  }

  std::unique_ptr<BlockProgram> finish() {
    block(k_.body, p_->body);
    layout();
    return std::move(p_);
  }

 private:
  struct Region {
    const Stmt* stmt;
    Steps* prologue;
    bool stores;
    int depth = 0;  // of loops inside
  };

  Id new_id(Inst inst) {
    Id id = static_cast<Id>(values_.size());
    values_.push_back(inst);
    info_.push_back({});
    same_.push_back(id);
    scalar_of_.push_back(-1);
    array_of_.push_back(-1);
    return id;
  }
  // Allocates a scalar for a value.
  Id scalar(Id id) {
    if (scalar_of_[id] < 0) {
      scalar_of_[id] = static_cast<int64_t>(p_->scalars.size());
      p_->scalars.push_back(values_[id].op == Op::Const ? static_cast<uint64_t>(values_[id].imm) : 0);
    }
    return id;
  }
  Id constant(int64_t x) {
    auto [it, added] = constants_.emplace(x, kNoId);
    if (added) it->second = scalar(new_id({Op::Const, DType::I64, DType::I64, {kNoValue, kNoValue, kNoValue}, x}));
    return it->second;
  }
  bool is_const(Id id, int64_t x) const { return values_[id].op == Op::Const && values_[id].imm == x; }
  bool is_const(Id id) const { return values_[id].op == Op::Const; }
  Info::Kind kind(Id id) const { return info_[id].kind; }
  Shape shape(Id id) const { return kind(id) == Info::Uniform ? Shape::Uniform : Shape::Varying; }
  int width(Id id) const { return size_bytes(values_[id].type); }

  // Emits a step that computes a uniform value; into the region's prologue if no operand is computed inside the region.
  void emit_uniform(BlockStep s, Steps& out, std::initializer_list<Id> operands, bool movable) {
    scalar(s.out);
    info_[s.out].kind = Info::Uniform;
    bool inside = region_ && (!movable || std::any_of(operands.begin(), operands.end(),
                                                      [&](Id o) { return o != kNoId && info_[o].in_body; }));
    info_[s.out].in_body = inside;
    (region_ && !inside ? *region_->prologue : out).push_back(std::move(s));
  }

  // i64 arithmetic on uniform values, with constant folding.
  Id uniform(Op op, Id a, Id b, Steps& out) {
    if (is_const(a) && is_const(b)) {
      int64_t x = values_[a].imm, y = values_[b].imm;
      return constant(op == Op::Add   ? scalar::apply<Op::Add>(x, y)
                      : op == Op::Sub ? scalar::apply<Op::Sub>(x, y)
                                      : scalar::apply<Op::Mul>(x, y));
    }
    if (op == Op::Mul && (is_const(a, 0) || is_const(b, 0))) return constant(0);
    if (op == Op::Mul && is_const(a, 1)) return b;
    if (op == Op::Mul && is_const(b, 1)) return a;
    if (op == Op::Add && is_const(a, 0)) return b;
    if (op != Op::Mul && is_const(b, 0)) return a;
    Inst inst{op, DType::I64, DType::I64, {a, b, kNoValue}};
    Id id = new_id(inst);
    emit_uniform(
        {.run = find_arithmetic(inst, Shape::Uniform, Shape::Uniform, Shape::Uniform), .out = id, .a = a, .b = b}, out,
        {a, b}, true);
    return id;
  }

  Id base_of(Id id) { return kind(id) == Info::Affine ? info_[id].base : id; }
  Id stride_of(Id id) { return kind(id) == Info::Affine ? info_[id].stride : constant(0); }

  // An array with the elements of `id`, for steps that take only varying operands.
  Id varying(Id id, Steps& out) {
    if (kind(id) == Info::Varying) return id;
    if (auto it = arrays_.find(id); it != arrays_.end()) return it->second;
    Id v = new_id(values_[id]);
    info_[v].kind = Info::Varying;
    info_[v].in_body = true;
    array(v);
    if (kind(id) == Info::Affine)
      out.push_back({.run = find_iota(), .out = v, .a = info_[id].base, .b = info_[id].stride});
    else
      out.push_back({.run = find_splat(width(id)), .out = v, .a = id});
    arrays_.emplace(id, v);
    arrays_order_.push_back(id);
    return v;
  }
  // An operand for a step that takes uniform or varying operands: expands affine values.
  Id operand(Id id, Steps& out) { return kind(id) == Info::Affine ? varying(id, out) : id; }

  void array(Id id) { array_of_[id] = 0; }

  void define_varying(Id v) {
    info_[v].kind = Info::Varying;
    info_[v].in_body = true;
    array(v);
  }

  void load(Id v, const Inst& inst, Id offset, Steps& out) {
    int width = size_bytes(inst.type);
    if (kind(offset) == Info::Affine && is_const(info_[offset].stride, 0)) offset = info_[offset].base;
    BlockStep s{.out = v, .a = offset, .imm = inst.imm};
    if (kind(offset) == Info::Uniform) {
      s.run = find_load_one(width);
      // A load is hoisted only if it runs unconditionally and no store in the region can come before it.
      emit_uniform(std::move(s), out, {offset}, region_ && region_->depth == 0 && !region_->stores);
      return;
    }
    define_varying(v);
    bool affine = kind(offset) == Info::Affine;
    s.run = find_load(width, affine);
    if (affine) {
      s.a = info_[offset].base;
      s.b = info_[offset].stride;
      info_[v].load = true;
      info_[v].stride = s.b;
    }
    out.push_back(std::move(s));
  }

  void let(ValueId v, Steps& out) {
    Inst inst = values_[v];
    int n = scalar::num_operands(inst.op);
    Id arg[3] = {kNoId, kNoId, kNoId};
    bool all_uniform = true;
    for (int i = 0; i < n; ++i) {
      arg[i] = same_[inst.args[i]];
      all_uniform &= kind(arg[i]) == Info::Uniform;
    }
    if (inst.op == Op::Const || inst.op == Op::Size || inst.op == Op::Index || inst.op == Op::Result) return;
    if (inst.op == Op::Load) return load(v, inst, arg[0], out);

    if (!all_uniform && inst.type == DType::I64 && affine(v, inst, arg, out)) return;
    BlockStep s{.out = v, .a = arg[0], .b = arg[1], .c = arg[2]};
    if (all_uniform) {
      s.run = find(inst, arg);
      INVARIANT(s.run, "no step for " << name_of(inst.op) << " of " << sheaf::name_of(inst.type));
      emit_uniform(std::move(s), out, {arg[0], arg[1], arg[2]}, true);
      return;
    }
    for (int i = 0; i < n; ++i)
      arg[i] = operand(arg[i], out);
    bool swapped = inst.op == Op::Add || inst.op == Op::Mul || inst.op == Op::Min || inst.op == Op::Max ||
                   inst.op == Op::And || inst.op == Op::Or || inst.op == Op::Xor || inst.op == Op::Eq ||
                   inst.op == Op::Ne;
    if (swapped && kind(arg[0]) == Info::Uniform) std::swap(arg[0], arg[1]);
    s.run = find(inst, arg);
    if (!s.run) {
      for (int i = 0; i < n; ++i)
        arg[i] = varying(arg[i], out);
      s.run = find(inst, arg);
      INVARIANT(s.run, "no step for " << name_of(inst.op) << " of " << sheaf::name_of(inst.type));
    }
    s.a = arg[0], s.b = arg[1], s.c = arg[2];
    define_varying(v);
    info_[v].computed = true;
    out.push_back(std::move(s));
  }

  // Keeps i64 sums and products of affine and uniform values affine; false if the result is not affine.
  bool affine(Id v, const Inst& inst, const Id* arg, Steps& out) {
    auto uniform_or_affine = [&](Id id) { return kind(id) != Info::Varying; };
    Id base, stride;
    if (inst.op == Op::Neg && uniform_or_affine(arg[0])) {
      base = uniform(Op::Sub, constant(0), base_of(arg[0]), out);
      stride = uniform(Op::Sub, constant(0), stride_of(arg[0]), out);
    } else if ((inst.op == Op::Add || inst.op == Op::Sub) && uniform_or_affine(arg[0]) && uniform_or_affine(arg[1])) {
      base = uniform(inst.op, base_of(arg[0]), base_of(arg[1]), out);
      stride = uniform(inst.op, stride_of(arg[0]), stride_of(arg[1]), out);
    } else if (inst.op == Op::Mul && uniform_or_affine(arg[0]) && uniform_or_affine(arg[1]) &&
               (kind(arg[0]) == Info::Uniform || kind(arg[1]) == Info::Uniform)) {
      Id by = kind(arg[0]) == Info::Uniform ? arg[0] : arg[1], x = by == arg[0] ? arg[1] : arg[0];
      base = uniform(Op::Mul, base_of(x), by, out);
      stride = uniform(Op::Mul, stride_of(x), by, out);
    } else {
      return false;
    }
    info_[v] = {Info::Affine, base, stride, true};
    return true;
  }

  Run find(const Inst& inst, const Id* arg) const {
    auto shape_of = [&](int i) { return arg[i] == kNoId ? Shape::Uniform : shape(arg[i]); };
    bool varies = shape_of(0) == Shape::Varying;
    switch (inst.op) {
      case Op::Select:
      case Op::Seldom: return find_select(size_bytes(inst.type), shape_of(0), shape_of(1), shape_of(2));
      case Op::Bitcast: return find_copy(size_bytes(inst.type), varies);
      case Op::Convert: return find_convert(inst.from, inst.type, varies);
      default: break;
    }
    if (inst.op < Op::Exp) return find_arithmetic(inst, shape_of(0), shape_of(1), shape_of(2));
    bool two = scalar::num_operands(inst.op) == 2;
    if (two && shape_of(0) != shape_of(1)) return nullptr;
    return find_elementary(inst.op, inst.type, varies);
  }

  void store(const Stmt& s, Steps& out) {
    int width = size_bytes(k_.buffers[s.id].dtype);
    Id offset = same_[s.offset], value = operand(same_[s.value], out);
    BlockStep step{.a = offset, .c = value, .imm = s.id};
    if (kind(offset) == Info::Uniform && kind(value) == Info::Uniform) {
      step.run = find_store_one(width);
    } else if (kind(offset) == Info::Varying) {
      step.run = find_store(width, false, shape(value));
    } else {
      step.a = base_of(offset);
      step.b = stride_of(offset);
      step.run = find_store(width, true, shape(value));
    }
    step.own = width;
    stores_.push_back(step.run);
    out.push_back(std::move(step));
  }

  void check(const Stmt& s, Steps& out) {
    Id condition = operand(same_[s.value], out), payload = operand(same_[s.offset], out);
    out.push_back({.run = find_check(shape(condition), shape(payload)), .a = condition, .b = payload, .imm = s.id});
  }

  void call(const Stmt& s, Steps& out) {
    auto site = std::make_unique<CallSite>();
    site->routine = kernels::find_fast_routine(s.routine);
    INVARIANT(site->routine, "no routine " << s.routine);
    INVARIANT(s.buffers.size() <= kMaxCallBuffers && s.arguments.size() <= kMaxCallArguments, "call of " << s.routine);
    site->buffers = s.buffers;
    for (ValueId a : s.arguments)
      site->arguments.push_back(same_[a]);
    out.push_back({.run = run_call, .call = site.get()});
    p_->calls.push_back(std::move(site));
  }

  // Compiles the body of a scalar loop or a loop inside a region. Arrays expanded inside are not available after it.
  void inner_body(const Block& b, Steps& out) {
    size_t known = arrays_order_.size();
    if (region_) ++region_->depth;
    block(b, out);
    if (region_) --region_->depth;
    while (arrays_order_.size() > known) {
      arrays_.erase(arrays_order_.back());
      arrays_order_.pop_back();
    }
  }

  Id index_scalar(int axis) {
    Id id = index_[axis];
    if (id == kNoId)
      id = index_[axis] = new_id({Op::Index, DType::I64, DType::I64, {kNoValue, kNoValue, kNoValue}, axis});
    scalar(id);
    info_[id] = {Info::Uniform, kNoId, kNoId, region_ != nullptr};
    return id;
  }
  Id result_id(const Stmt& s) {
    Id id = result_[s.id];
    bool position = s.combine == loop::Combine::ArgMax || s.combine == loop::Combine::ArgMin;
    DType type = position ? DType::I64 : k_.reduction_types[s.id];
    if (id == kNoId) id = result_[s.id] = new_id({Op::Result, type, type, {kNoValue, kNoValue, kNoValue}, s.id});
    return id;
  }

  void region(const Stmt& s, Steps& out) {
    bool reduce = s.kind == Stmt::Reduce;
    bool parallel = s.mark == Mark::Parallel && !inside_parallel_;
    BlockStep step{.run = reduce     ? run_reduce_chunks
                          : parallel ? run_parallel_chunks
                                     : run_chunks,
                   .a = same_[s.extent]};
    Region region{&s, &step.prologue, loop::contains_store(s.body)};
    region_ = &region;
    int64_t states = states_bytes_;
    if (reduce) take_state(step, find_reducer(s.combine, k_.reduction_types[s.id], false));
    Id index = index_[s.axis];
    Id zero = constant(0), one = constant(1);
    if (index != kNoId) info_[index] = {Info::Affine, zero, one, true};
    block(s.body, step.body);
    if (reduce) step.b = varying(same_[s.value], step.body);
    arrays_.clear();
    arrays_order_.clear();
    if (parallel) attach_cost(step, s);
    place_arrays(step);
    region_ = nullptr;
    states_bytes_ = states;
    if (reduce) {
      step.out = scalar(result_id(s));
      info_[step.out] = {};
    }
    out.push_back(std::move(step));
  }

  void take_state(BlockStep& step, const Reducer& reducer) {
    step.reducer = &reducer;
    step.own = states_bytes_;
    states_bytes_ += static_cast<int64_t>((reducer.state_bytes + 63) / 64 * 64);
    max_tail_ = std::max(max_tail_, states_bytes_);
  }

  void reduce(const Stmt& s, Steps& out) {
    if (!region_ && loop::is_region(k_, s)) return region(s, out);
    BlockStep step{.run = run_reduce, .a = same_[s.extent]};
    take_state(step, find_reducer(s.combine, k_.reduction_types[s.id], region_ != nullptr));
    step.c = index_scalar(s.axis);
    inner_body(s.body, step.body);
    Id element = same_[s.value];
    Id result = result_id(s);
    if (region_) {
      element = varying(element, step.body);
      // If the element was expanded to an array, that array belongs to the inner body.
      if (!arrays_order_.empty() && arrays_[arrays_order_.back()] == element)
        arrays_.erase(arrays_order_.back()), arrays_order_.pop_back();
      define_varying(result);
    } else {
      scalar(result);
      info_[result] = {};
    }
    step.b = element;
    step.out = result;
    out.push_back(std::move(step));
  }

  void loop(const Stmt& s, Steps& out) {
    if (!region_ && loop::is_region(k_, s)) return region(s, out);
    bool parallel = s.mark == Mark::Parallel && !inside_parallel_ && !region_;
    BlockStep step{
        .run = parallel ? run_parallel_serial : run_serial, .out = index_scalar(s.axis), .a = same_[s.extent]};
    if (parallel) inside_parallel_ = true;
    inner_body(s.body, step.body);
    if (parallel) {
      inside_parallel_ = false;
      attach_cost(step, s);
    }
    out.push_back(std::move(step));
  }

  void block(const Block& b, Steps& out) {
    for (const Stmt& s : b)
      switch (s.kind) {
        case Stmt::Let: let(s.value, out); break;
        case Stmt::Loop: loop(s, out); break;
        case Stmt::Reduce: reduce(s, out); break;
        case Stmt::Store: store(s, out); break;
        case Stmt::Check: check(s, out); break;
        case Stmt::Call: call(s, out); break;
      }
  }

  // Attaches the estimated work of one iteration to a parallel loop.
  void attach_cost(BlockStep& step, const Stmt& s) {
    auto cost = std::make_unique<Cost>();
    for (loop::WorkTerm& t : loop::work_of(k_, s, step.run == run_parallel_chunks, kRates)) {
      Cost::Term term{t.ns, {}};
      for (ValueId e : t.extents)
        term.extents.push_back(same_[e]);
      cost->terms.push_back(std::move(term));
    }
    step.cost = cost.get();
    p_->costs.push_back(std::move(cost));
  }

  // --- steps 3 and 4, for a finished region ---

  struct Life {
    int64_t first = -1, last = -1;
    int uses = 0;
  };
  using Lives = std::map<Id, Life>;

  // Numbers the steps of the region in order and records live ranges. A value defined before a loop and used inside it
  // is live to the loop's end.
  int64_t number(const Steps& steps, int64_t at, Lives& lives, std::vector<int64_t>& stores) {
    for (const BlockStep& s : steps) {
      ++at;
      auto use = [&](Id id, int64_t when) {
        if (id == kNoId || array_of_[id] < 0) return;
        Life& l = lives[id];
        l.last = std::max(l.last, when);
        ++l.uses;
      };
      bool loops = !s.body.empty() || s.run == run_serial || s.run == run_reduce;
      if (loops) {
        Lives inner;
        at = number(s.body, at, inner, stores) + 1;
        for (auto& [id, l] : inner) {
          if (l.first >= 0) {
            lives[id] = l;
            continue;
          }
          Life& outer = lives[id];
          outer.uses += l.uses;
          outer.last = std::max(outer.last, at);
        }
        use(s.b, at);
      } else {
        use(s.a, at), use(s.b, at), use(s.c, at);
        if (std::find(stores_.begin(), stores_.end(), s.run) != stores_.end()) stores.push_back(at);
      }
      if (s.out != kNoId && array_of_[s.out] >= 0) {
        Life& l = lives[s.out];
        if (l.first < 0) l.first = at;
        l.last = std::max(l.last, at);
      }
    }
    return at;
  }

  void for_each_list(Steps& steps, const std::function<void(Steps&)>& f) {
    for (BlockStep& s : steps)
      if (!s.body.empty()) for_each_list(s.body, f);
    f(steps);
  }

  void place_arrays(BlockStep& region) {
    Lives lives;
    std::vector<int64_t> stores;
    int64_t end = number(region.body, 0, lives, stores) + 1;
    if (region.b != kNoId) lives[region.b].last = end, ++lives[region.b].uses;

    std::map<Id, bool> points;  // loads that point into memory
    for (auto& [id, life] : lives)
      if (info_[id].load)
        points[id] =
            std::none_of(stores.begin(), stores.end(), [&l = life](int64_t s) { return l.first < s && s < l.last; });
    for_each_list(region.body, [&](Steps& list) { compute_in_place(list, lives, points); });

    lives.clear();
    stores.clear();
    end = number(region.body, 0, lives, stores) + 1;
    if (region.b != kNoId) lives[region.b].last = end;

    // Linear scan: the array of a dead value is reused by the next value of the same width.
    std::vector<std::pair<Id, Life>> order(lives.begin(), lives.end());
    std::sort(order.begin(), order.end(), [](auto& x, auto& y) { return x.second.first < y.second.first; });
    std::map<int, std::vector<int64_t>> free;
    std::vector<std::pair<int64_t, Id>> active;
    int64_t top = 0;
    std::map<Id, int64_t> place;
    for (auto& [id, l] : order) {
      if (info_[id].in_place) continue;
      bool load = info_[id].load;
      if (load && points[id] && is_const(info_[id].stride, 1)) continue;
      for (size_t i = 0; i < active.size();) {
        // The step that reads an array last may overwrite it, but only an elementwise step (`computed`), not a load.
        if (active[i].first < l.first || (active[i].first == l.first && !load && info_[id].computed)) {
          free[width(active[i].second)].push_back(place[active[i].second]);
          active[i] = active.back();
          active.pop_back();
        } else {
          ++i;
        }
      }
      auto& available = free[width(id)];
      if (!available.empty()) {
        place[id] = available.back();
        available.pop_back();
      } else {
        place[id] = top;
        top += kChunk * width(id);
      }
      active.push_back({l.last, id});
    }
    for (auto& [id, offset] : place)
      array_of_[id] = states_bytes_ + offset;
    std::function<void(Steps&)> finish = [&](Steps& list) {
      for (BlockStep& s : list) {
        finish(s.body);
        if (s.out == kNoId || !info_[s.out].load || s.run == find_point_into()) continue;
        s.own = array_of_[s.out];
        s.c = points[s.out] ? kNoId : s.out;
      }
    };
    finish(region.body);
    max_tail_ = std::max(max_tail_, states_bytes_ + top);
  }

  // Writes a value whose only use is a contiguous store directly to the store's address, if no step in between accesses
  // memory.
  void compute_in_place(Steps& list, Lives& lives, std::map<Id, bool>& points) {
    for (size_t q = 0; q < list.size(); ++q) {
      BlockStep store = list[q];
      bool is_store = store.c != kNoId && store.b != kNoId && is_const(store.b, 1) && kind(store.c) == Info::Varying &&
                      store.run == find_store(static_cast<int>(store.own), true, Shape::Varying);
      if (!is_store || !info_[store.c].computed || lives[store.c].uses != 1) continue;
      size_t d = q;
      bool quiet = true;
      while (d-- > 0 && list[d].out != store.c) {
        const BlockStep& s = list[d];
        bool touches =
            !s.body.empty() || s.out == kNoId || s.out == store.a || info_[s.out].load || values_[s.out].op == Op::Load;
        for (Id id : {s.a, s.b, s.c})
          if (id != kNoId && points.count(id) && points[id]) touches = true;
        if (touches) quiet = false;
      }
      if (d == static_cast<size_t>(-1) || !quiet) continue;
      info_[store.c].in_place = true;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(q));
      list.insert(
          list.begin() + static_cast<std::ptrdiff_t>(d),
          BlockStep{.run = find_point_into(), .out = store.c, .a = store.a, .imm = store.imm, .own = store.own});
    }
  }

  void layout() {
    p_->num_ids = values_.size();
    p_->scalars_at = (p_->num_ids * sizeof(std::byte*) + 63) / 64 * 64;
    p_->tail_at = (p_->scalars_at + p_->scalars.size() * sizeof(uint64_t) + 63) / 64 * 64;
    p_->frame_bytes = p_->tail_at + static_cast<size_t>(max_tail_);
    for (Id id = 0; id < values_.size(); ++id)
      p_->offsets.push_back(scalar_of_[id] >= 0
                                ? static_cast<int64_t>(p_->scalars_at) + scalar_of_[id] * 8
                                : static_cast<int64_t>(p_->tail_at) + std::max<int64_t>(array_of_[id], 0));
  }

  const Kernel& k_;
  std::unique_ptr<BlockProgram> p_;
  std::vector<Inst> values_;  // the kernel's, then those added here
  std::vector<Info> info_;
  std::vector<Id> same_;            // the first of equal leaves
  std::vector<int64_t> scalar_of_;  // number of a value's scalar, or -1
  std::vector<int64_t> array_of_;   // -1: no array; else its offset after the scalars once placed
  std::vector<Id> index_, result_;
  std::map<int64_t, Id> constants_;
  std::map<Id, Id> arrays_;  // uniform or affine value -> array with its elements
  std::vector<Id> arrays_order_;
  std::vector<Run> stores_;
  Region* region_ = nullptr;
  bool inside_parallel_ = false;
  int64_t states_bytes_ = 0, max_tail_ = 0;
};

}  // namespace

std::unique_ptr<BlockProgram> compile(const loop::Kernel& kernel, routines::Arithmetic arithmetic) {
  auto program = BlockCompiler(kernel).finish();
  program->arithmetic = arithmetic;
  return program;
}

}  // namespace sheaf::codegen::block
