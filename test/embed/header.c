/* sheaf.h is C: compiled as C, a program of the smallest kind. Gives what (+ 1 2) is, or -1. */
#include <sheaf/sheaf.h>

long sum_from_c(void) {
  sheaf_session* s = sheaf_new();
  sheaf_value* v = NULL;
  sheaf_error* e = sheaf_eval(s, "(+ 1 2)", &v);
  long out = e ? -1 : (long)sheaf_get_int(v);
  sheaf_error_free(e);
  sheaf_value_free(v);
  sheaf_free(s);
  return out;
}
