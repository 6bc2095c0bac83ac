#include "runtime/verify.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "runtime/byte_map.h"
#include "runtime/dependencies.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

constexpr int kNothing = -1;

std::string text_of(const Access& a) {
  return fmt::format("value {} ({} bytes at {})", a.value, a.bytes, runtime::text_of(a.place));
}

class Verifier {
 public:
  explicit Verifier(const Plan& plan) : plan_(plan) {}

  std::string run() {
    for (size_t i = 0; i < plan_.steps.size() && problem_.empty(); ++i) {
      where_ = fmt::format("step {} ({})", i, name_of(plan_.steps[i]));
      std::visit([&](const auto& s) { step(s); }, plan_.steps[i]);
    }
    where_ = "the end";
    for (const OutputSpec& o : plan_.outputs) {
      const Extent extent = extent_of(o.sizes, o.strides);
      Access a{o.place, extent.count * size_bytes(o.dtype), o.value};
      a.place.offset += extent.first * size_bytes(o.dtype);
      read(a);
    }
    return problem_;
  }

 private:
  struct Byte {
    int value = kNothing;
  };

  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = where_ + ": " + what;
  }

  // True if the access is inside its buffer; the sizes of inputs and constants are not known.
  bool is_inside(const Access& a) const {
    int64_t size = 0;
    switch (a.place.kind) {
      case Place::Input: return true;
      case Place::Constant: return a.place.index < static_cast<int>(plan_.constants.size());
      case Place::Scratch: size = static_cast<int64_t>(plan_.scratch_bytes); break;
      case Place::Output: size = plan_.output_buffers[static_cast<size_t>(a.place.index)].bytes; break;
    }
    return a.place.offset >= 0 && a.place.offset + a.bytes <= size;
  }

  bool overlap(const Access& a, const Access& b) const {
    return a.bytes > 0 && b.bytes > 0 && buffer_of(a.place, plan_) == buffer_of(b.place, plan_) &&
           a.place.offset < b.place.offset + b.bytes && b.place.offset < a.place.offset + a.bytes;
  }
  static bool same_extent(const Access& a, const Access& b) {
    return a.place.offset == b.place.offset && a.bytes == b.bytes;
  }

  void read(const Access& a) {
    if (!is_inside(a)) return fail(text_of(a) + " is read beyond its buffer");
    // Inputs hold their values from the start; their value numbers are not known.
    const bool given = a.place.kind == Place::Input || a.place.kind == Place::Constant;
    const int expected = given ? kNothing : a.value;
    held_[buffer_of(a.place, plan_)].visit(a.place.offset, a.place.offset + a.bytes, [&](const Byte& b) {
      if (b.value == expected) return;
      fail(b.value == kNothing ? text_of(a) + " is read before it is written"
                               : fmt::format("{} is read, but value {} was written over it", text_of(a), b.value));
    });
  }

  void write(const Access& a) {
    if (!is_inside(a)) return fail(text_of(a) + " is written beyond its buffer");
    if (a.place.kind == Place::Input || a.place.kind == Place::Constant)
      return fail(text_of(a) + " is written, and does not belong to the plan");
    if (is_donated(a.place, plan_)) overwritten_ = true;
    held_[buffer_of(a.place, plan_)].assign(a.place.offset, a.place.offset + a.bytes, {a.value});
  }

  // `in_place`: the step reads each element before it writes the one at the same place.
  void use(const StepBase& s, bool in_place) {
    for (const Access& r : s.reads)
      read(r);
    for (size_t i = 0; i < s.writes.size(); ++i) {
      const Access& w = s.writes[i];
      for (const Access& r : s.reads)
        if (overlap(w, r) && !(in_place && (w.value == r.value || same_extent(w, r))))
          fail(fmt::format("{} is written over {}, which the step may still read", text_of(w), text_of(r)));
      for (size_t k = 0; k < i; ++k)
        if (s.writes[k].value != w.value && overlap(w, s.writes[k]))
          fail(fmt::format("{} and {} are written to the same place", text_of(s.writes[k]), text_of(w)));
    }
    for (const Access& w : s.writes)
      write(w);
    if (overwritten_ && s.checks) fail("it may fail, and an argument may have been written over");
  }

  void step(const Launch& l) { use(l, true); }
  // Steps other than launches may read all of their inputs at any time, some more than once.
  void step(const StepBase& s) { use(s, false); }

  void step(const ProductStep& s) {
    std::vector<const StepBase*> before;
    auto part = [&](const Launch& l, bool is_epilogue) {
      use(l, true);
      for (const StepBase* b : before)
        for (const Access& r : b->reads)
          for (const Access& w : l.writes) {
            // Safe: the prologue reads its rows before the tiles that depend on them are complete.
            const bool at_hand = is_epilogue && b != &s.product && same_extent(w, r);
            if (w.value != r.value && overlap(w, r) && !at_hand)
              fail(fmt::format("{} is written over {}, which the product may still need", text_of(w), text_of(r)));
          }
      before.push_back(&l);
    };
    for (const PrologueLaunch& p : s.prologue)
      part(p.launch, false);
    part(s.product, false);
    for (const EpilogueLaunch& e : s.epilogue)
      part(e.launch, true);
  }

  const Plan& plan_;
  std::map<BufferId, ByteMap<Byte>> held_;
  bool overwritten_ = false;  // a donated input was written
  std::string where_, problem_;
};

}  // namespace

std::string problem_of(const Plan& plan) { return Verifier(plan).run(); }

void verify(const Plan& plan) {
  const std::string problem = problem_of(plan);
  INVARIANT(problem.empty(), "a plan is wrong: " << problem);
}

}  // namespace sheaf::runtime
