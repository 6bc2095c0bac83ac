#include "memory/layout.h"

namespace sheaf::memory {

Layout stretched(const Layout& a, const Dims& sizes) {
  if (a.sizes == sizes) return a;
  Layout out{sizes, Dims(sizes.size(), 0)};
  size_t shift = sizes.size() - a.sizes.size();
  for (size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] == sizes[shift + i]) out.strides[shift + i] = a.strides[i];
  return out;
}

void collapse_axes(std::vector<Layout>& arrays, std::vector<bool>* sorts) {
  size_t rank = arrays[0].sizes.size(), kept = 0;  // axes [0, kept) are final
  for (size_t a = 0; a < rank; ++a) {
    if (arrays[0].sizes[a] == 1) continue;
    bool merge = kept > 0 && (!sorts || (*sorts)[kept - 1] == (*sorts)[a]);
    for (size_t k = 0; merge && k < arrays.size(); ++k)
      merge = arrays[k].strides[kept - 1] == arrays[k].strides[a] * arrays[k].sizes[a];
    for (Layout& t : arrays) {
      if (merge) {
        t.sizes[kept - 1] *= t.sizes[a];
        t.strides[kept - 1] = t.strides[a];
      } else {
        t.sizes[kept] = t.sizes[a];
        t.strides[kept] = t.strides[a];
      }
    }
    if (merge) continue;
    if (sorts) (*sorts)[kept] = (*sorts)[a];
    ++kept;
  }
  for (Layout& t : arrays) {
    t.sizes.resize(kept);
    t.strides.resize(kept);
  }
  if (sorts) sorts->resize(kept);
}

}  // namespace sheaf::memory
