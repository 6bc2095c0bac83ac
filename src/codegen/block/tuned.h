// Loops for one instruction set; included once per set by the files that define Kernels<T> (see instruction_sets.h).
// `flatten` inlines all callees, so that they are compiled for the same instruction set. Without it a fused
// multiply-add on x86-64 is a call of the C library.
template <Run run>
struct Tuned {
  __attribute__((flatten)) static void here(const BlockStep& s, RunState& c) { run(s, c); }
  static constexpr Run kRun = here;
};

template <class T>
constexpr Kernels<T> kKernels = Kernels<T>::template of<Tuned>();
