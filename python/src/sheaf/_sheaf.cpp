// The Python module over sheaf.h: Python's objects as values and back. Arrays come in by the buffer protocol (NumPy,
// also read-only arrays) or by DLPack (PyTorch, JAX …) and go out by both; their memory is shared, and copied only to
// or from a GPU.
//
// The GIL is released while a session works. Memory is given back on whichever thread drops it, which then takes the
// GIL; at the end of the process it is not given back at all, because a thread that asks for the GIL then never
// returns.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sheaf/dlpack.h>
#include <sheaf/sheaf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<bool> g_exiting{false};
PyTypeObject *g_session_type, *g_tensor_type, *g_function_type;
PyObject *g_error_type, *g_keyword_type;

struct DropObject {
  void operator()(PyObject* o) const { Py_XDECREF(o); }
};
using Object = std::unique_ptr<PyObject, DropObject>;
struct FreeValue {
  void operator()(sheaf_value* v) const { sheaf_value_free(v); }
};
using Value = std::unique_ptr<sheaf_value, FreeValue>;

struct SessionObject {
  PyObject_HEAD sheaf_session* session;
  PyObject* convert;  // what tensors of results are passed through, or nullptr
};

struct TensorObject {
  PyObject_HEAD sheaf_value* value;
  DLManagedTensor layout;  // without data
  DLManagedTensor* here;   // with data, in the memory of the CPU; nullptr before it is needed
};

struct FunctionObject {
  PyObject_HEAD sheaf_value* value;
  SessionObject* session;
};

// ---- Element types ----

struct ElementType {
  uint8_t code, bits;
  const char* name;    // NumPy's
  const char* format;  // of the struct module; nullptr: it has none
};
constexpr ElementType kTypes[] = {
    {kDLFloat, 32, "float32", "f"},       {kDLFloat, 64, "float64", "d"}, {kDLFloat, 16, "float16", "e"},
    {kDLBfloat, 16, "bfloat16", nullptr}, {kDLInt, 8, "int8", "b"},       {kDLInt, 16, "int16", "h"},
    {kDLInt, 32, "int32", "i"},           {kDLInt, 64, "int64", "q"},     {kDLUInt, 8, "uint8", "B"},
    {kDLUInt, 16, "uint16", "H"},         {kDLUInt, 32, "uint32", "I"},   {kDLBool, 8, "bool", "?"},
    {kDLComplex, 64, "complex64", "Zf"},
};

const ElementType& type_of(const DLTensor& t) {
  for (const ElementType& e : kTypes)
    if (e.code == t.dtype.code && e.bits == t.dtype.bits) return e;
  return kTypes[0];  // not reached: Sheaf has no others
}

// What a format of the struct module stands for; false for structures, foreign byte orders and the like.
bool read_format(const char* format, Py_ssize_t item_size, DLDataType& out) {
  if (!format) format = "B";
  bool swapped = std::endian::native == std::endian::little ? *format == '>' || *format == '!' : *format == '<';
  if (swapped && item_size > 1) return false;
  if (std::strchr("@=<>!", *format)) ++format;
  if (std::strcmp(format, "Zf") == 0) {
    out = {kDLComplex, 64, 1};
    return true;
  }
  if (!*format || format[1]) return false;
  out = {0, static_cast<uint8_t>(8 * item_size), 1};
  if (std::strchr("bhilqn", *format))
    out.code = kDLInt;
  else if (std::strchr("BHILQN", *format))
    out.code = kDLUInt;
  else if (std::strchr("efd", *format))
    out.code = kDLFloat;
  else if (*format == '?')
    out.code = kDLBool;
  else
    return false;
  return true;
}

// ---- Errors ----

bool set_attribute(PyObject* o, const char* name, PyObject* value) {
  Object v(value);
  return v && PyObject_SetAttrString(o, name, v.get()) == 0;
}

// Raises `e` as sheaf.Error and frees it.
PyObject* raise(sheaf_error* e) {
  std::unique_ptr<sheaf_error, void (*)(sheaf_error*)> owned(e, sheaf_error_free);
  if (PyErr_CheckSignals() != 0) return nullptr;  // Ctrl-C: KeyboardInterrupt, not the error that it caused
  auto text = [](const char* s) { return PyUnicode_DecodeUTF8(s, static_cast<Py_ssize_t>(std::strlen(s)), "replace"); };
  std::string report = sheaf_error_report(e);
  while (report.ends_with('\n'))
    report.pop_back();
  Object shown(text(report.c_str()));
  Object error(shown ? PyObject_CallFunctionObjArgs(g_error_type, shown.get(), nullptr) : nullptr);
  if (!error) return nullptr;
  PyObject* o = error.get();
  if (set_attribute(o, "kind", text(sheaf_error_kind(e))) &&
      set_attribute(o, "message", text(sheaf_error_message(e))) &&
      set_attribute(o, "file", text(sheaf_error_file(e))) &&
      set_attribute(o, "line", PyLong_FromLong(sheaf_error_line(e))) &&
      set_attribute(o, "column", PyLong_FromLong(sheaf_error_column(e))) &&
      set_attribute(o, "report", text(sheaf_error_report(e))))
    PyErr_SetObject(g_error_type, o);
  return nullptr;
}

// ---- Arrays of Python to tensors ----

// A view of a Python object's memory, given back by the deleter.
struct Borrowed {
  DLManagedTensor managed{};
  Py_buffer view{};
  std::vector<int64_t> shape, strides;
};

Value from_buffer(PyObject* o) {
  auto b = std::make_unique<Borrowed>();
  if (PyObject_GetBuffer(o, &b->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return nullptr;
  struct Guard {
    Py_buffer* view;
    ~Guard() {
      if (view) PyBuffer_Release(view);
    }
  } guard{&b->view};
  const Py_buffer& v = b->view;
  DLTensor& t = b->managed.dl_tensor;
  if (!read_format(v.format, v.itemsize, t.dtype)) {
    PyErr_Format(PyExc_TypeError, "Sheaf has no tensors with elements of format '%s'", v.format ? v.format : "");
    return nullptr;
  }
  for (int a = 0; a < v.ndim; ++a) {
    b->shape.push_back(v.shape[a]);
    if (v.shape[a] > 1 && v.strides[a] % v.itemsize != 0) {
      PyErr_SetString(PyExc_TypeError, "the array's strides are not multiples of its element size; copy it first");
      return nullptr;
    }
    b->strides.push_back(v.strides[a] / v.itemsize);
  }
  t.data = v.buf;
  t.device = {kDLCPU, 0};
  t.ndim = v.ndim;
  t.shape = b->shape.data();
  t.strides = b->strides.data();
  b->managed.manager_ctx = b.get();
  b->managed.deleter = [](DLManagedTensor* m) {
    if (g_exiting) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    auto* owner = static_cast<Borrowed*>(m->manager_ctx);
    PyBuffer_Release(&owner->view);
    delete owner;
    PyGILState_Release(gil);
  };
  sheaf_value* out = nullptr;
  if (sheaf_error* e = sheaf_from_dlpack(&b->managed, &out)) {
    raise(e);
    return nullptr;
  }
  guard.view = nullptr;
  (void)b.release();  // its deleter does that
  return Value(out);
}

Value from_dlpack(PyObject* o) {
  Object capsule(PyObject_CallMethod(o, "__dlpack__", nullptr));
  if (!capsule) return nullptr;
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (!m) return nullptr;
  sheaf_value* out = nullptr;
  if (sheaf_error* e = sheaf_from_dlpack(m, &out)) {
    raise(e);
    return nullptr;
  }
  PyCapsule_SetName(capsule.get(), "used_dltensor");  // its memory is ours to give back now
  return Value(out);
}

// ---- Python to values ----

Value to_value(PyObject* o);

// Handles of the parts of a tree while it is built.
struct Parts {
  std::vector<Value> owned;
  std::vector<sheaf_value*> handles;
  bool add(PyObject* o) {
    Value v = o ? to_value(o) : nullptr;
    if (!v) return false;
    handles.push_back(v.get());
    owned.push_back(std::move(v));
    return true;
  }
  void add_keyword(const char* name) {
    owned.emplace_back(sheaf_keyword(name));
    handles.push_back(owned.back().get());
  }
};

Value from_sequence(PyObject* o) {
  Parts parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (!parts.add(PySequence_Fast_GET_ITEM(o, i))) return nullptr;
  return Value((PyTuple_Check(o) ? sheaf_tuple : sheaf_list)(parts.handles.data(), parts.handles.size()));
}

Value from_dict(PyObject* o) {
  Parts parts;
  std::vector<const char*> keys;
  PyObject *key, *item;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &item);) {
    if (!PyUnicode_Check(key)) {
      PyErr_Format(PyExc_TypeError, "keys of dicts must be strings, got %s", Py_TYPE(key)->tp_name);
      return nullptr;
    }
    keys.push_back(PyUnicode_AsUTF8(key));
    if (!keys.back() || !parts.add(item)) return nullptr;
  }
  return Value(sheaf_dict(keys.data(), parts.handles.data(), keys.size()));
}

Value from_container(PyObject* o) {
  if (Py_EnterRecursiveCall(" while giving a value to Sheaf")) return nullptr;
  Value v = PyDict_Check(o) ? from_dict(o) : from_sequence(o);
  Py_LeaveRecursiveCall();
  return v;
}

Value from_text(PyObject* o) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(o, &size);
  if (!text) return nullptr;
  return Value(Py_TYPE(o) == reinterpret_cast<PyTypeObject*>(g_keyword_type)
                   ? sheaf_keyword(text)
                   : sheaf_string(text, static_cast<size_t>(size)));
}

Value from_int(PyObject* o) {
  long long i = PyLong_AsLongLong(o);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  return Value(sheaf_int(i));
}

Value to_value(PyObject* o) {
  if (o == Py_None) return Value(sheaf_nil());
  if (PyBool_Check(o)) return Value(sheaf_bool(o == Py_True));
  if (PyLong_Check(o)) return from_int(o);
  if (PyFloat_Check(o)) return Value(sheaf_float(PyFloat_AS_DOUBLE(o)));
  if (PyUnicode_Check(o)) return from_text(o);
  if (PyList_Check(o) || PyTuple_Check(o) || PyDict_Check(o)) return from_container(o);
  if (Py_TYPE(o) == g_tensor_type) return Value(sheaf_value_copy(reinterpret_cast<TensorObject*>(o)->value));
  if (Py_TYPE(o) == g_function_type) return Value(sheaf_value_copy(reinterpret_cast<FunctionObject*>(o)->value));
  if (PyObject_CheckBuffer(o)) return from_buffer(o);
  if (PyObject_HasAttrString(o, "__dlpack__")) return from_dlpack(o);
  PyErr_Format(PyExc_TypeError, "Sheaf has no value for an object of type %s", Py_TYPE(o)->tp_name);
  return nullptr;
}

// ---- Values to Python ----

PyObject* to_python(Value v, SessionObject* session);

PyObject* new_tensor(Value v, SessionObject* session) {
  auto* t = reinterpret_cast<TensorObject*>(g_tensor_type->tp_alloc(g_tensor_type, 0));
  if (!t) return nullptr;
  Object owned(reinterpret_cast<PyObject*>(t));
  t->value = v.release();
  if (sheaf_error* e = sheaf_tensor_layout(t->value, &t->layout)) return raise(e);
  return session->convert ? PyObject_CallFunctionObjArgs(session->convert, owned.get(), nullptr) : owned.release();
}

PyObject* new_function(Value v, SessionObject* session) {
  auto* f = reinterpret_cast<FunctionObject*>(g_function_type->tp_alloc(g_function_type, 0));
  if (!f) return nullptr;
  f->value = v.release();
  f->session = session;
  Py_INCREF(session);
  return reinterpret_cast<PyObject*>(f);
}

PyObject* text_object(sheaf_value* v) {
  size_t size;
  const char* text = sheaf_get_text(v, &size);
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "surrogateescape");
}

PyObject* new_sequence(sheaf_value* v, SessionObject* session, bool tuple) {
  auto n = static_cast<Py_ssize_t>(sheaf_size(v));
  Object out(tuple ? PyTuple_New(n) : PyList_New(n));
  if (!out) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = to_python(Value(sheaf_item(v, static_cast<size_t>(i))), session);
    if (!item) return nullptr;
    if (tuple)
      PyTuple_SET_ITEM(out.get(), i, item);
    else
      PyList_SET_ITEM(out.get(), i, item);
  }
  return out.release();
}

PyObject* new_dict(sheaf_value* v, SessionObject* session) {
  Object out(PyDict_New());
  if (!out) return nullptr;
  for (size_t i = 0; i < sheaf_size(v); ++i) {
    Object item(to_python(Value(sheaf_item(v, i)), session));
    if (!item || PyDict_SetItemString(out.get(), sheaf_dict_key(v, i), item.get()) != 0) return nullptr;
  }
  return out.release();
}

PyObject* new_container(Value v, SessionObject* session) {
  if (Py_EnterRecursiveCall(" while taking a value from Sheaf")) return nullptr;
  sheaf_kind kind = sheaf_kind_of(v.get());
  PyObject* out = kind == SHEAF_DICT ? new_dict(v.get(), session) : new_sequence(v.get(), session, kind == SHEAF_TUPLE);
  Py_LeaveRecursiveCall();
  return out;
}

PyObject* to_python(Value v, SessionObject* session) {
  if (!v) return PyErr_NoMemory();
  switch (sheaf_kind_of(v.get())) {
    case SHEAF_NIL: Py_RETURN_NONE;
    case SHEAF_BOOL: return PyBool_FromLong(sheaf_get_bool(v.get()));
    case SHEAF_INT: return PyLong_FromLongLong(sheaf_get_int(v.get()));
    case SHEAF_FLOAT: return PyFloat_FromDouble(sheaf_get_float(v.get()));
    case SHEAF_STRING: return text_object(v.get());
    case SHEAF_KEYWORD: {
      Object name(text_object(v.get()));
      return name ? PyObject_CallFunctionObjArgs(g_keyword_type, name.get(), nullptr) : nullptr;
    }
    case SHEAF_LIST:
    case SHEAF_TUPLE:
    case SHEAF_DICT: return new_container(std::move(v), session);
    case SHEAF_TENSOR: return new_tensor(std::move(v), session);
    case SHEAF_FUNCTION:
    case SHEAF_OTHER: break;
  }
  return new_function(std::move(v), session);
}

// ---- Work in a session ----

// While alive on the main thread, Ctrl-C stops the running call as well as reaching Python.
class InterruptGuard {
 public:
  explicit InterruptGuard(sheaf_session* s) {
    if (syscall(SYS_gettid) != getpid()) return;
    if (sigaction(SIGINT, nullptr, &before_) != 0 || before_.sa_flags & SA_SIGINFO) return;
    if (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN || before_.sa_handler == on_interrupt) return;
    running_ = s;
    python_ = before_.sa_handler;
    struct sigaction ours = before_;
    ours.sa_handler = on_interrupt;
    installed_ = sigaction(SIGINT, &ours, nullptr) == 0;
  }
  ~InterruptGuard() {
    if (!installed_) return;
    sigaction(SIGINT, &before_, nullptr);
    running_ = nullptr;
  }

 private:
  static void on_interrupt(int signal) {
    if (sheaf_session* s = running_) sheaf_interrupt(s);
    if (python_) python_(signal);
  }
  static inline std::atomic<sheaf_session*> running_{nullptr};
  static inline void (*python_)(int) = nullptr;
  struct sigaction before_{};
  bool installed_ = false;
};

template <class F>
PyObject* run(SessionObject* self, F&& f) {
  if (!self->session) {
    PyErr_SetString(PyExc_ValueError, "the session is closed");
    return nullptr;
  }
  sheaf_value* out = nullptr;
  sheaf_error* e;
  Object alive(reinterpret_cast<PyObject*>(self));
  Py_INCREF(self);
  {
    InterruptGuard guard(self->session);
    PyThreadState* thread = PyEval_SaveThread();
    e = f(&out);
    PyEval_RestoreThread(thread);
  }
  if (e) return raise(e);
  return to_python(Value(out), self);
}

// Positional arguments from `first` on, then the named ones as keywords and values.
bool gather(PyObject* args, Py_ssize_t first, PyObject* named, Parts& parts) {
  for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(args); ++i)
    if (!parts.add(PyTuple_GET_ITEM(args, i))) return false;
  PyObject *key, *item;
  for (Py_ssize_t at = 0; named && PyDict_Next(named, &at, &key, &item);) {
    std::string name = PyUnicode_AsUTF8(key);
    for (char& c : name)
      if (c == '_') c = '-';
    parts.add_keyword(name.c_str());
    if (!parts.add(item)) return false;
  }
  return true;
}

int session_init(PyObject* o, PyObject* args, PyObject* named) {
  auto* self = reinterpret_cast<SessionObject*>(o);
  static const char* names[] = {"convert", nullptr};
  PyObject* convert = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, named, "|O", const_cast<char**>(names), &convert)) return -1;
  if (!self->session) {
    PyThreadState* thread = PyEval_SaveThread();
    self->session = sheaf_new();
    PyEval_RestoreThread(thread);
  }
  if (!self->session) {
    PyErr_SetString(PyExc_MemoryError, "cannot start a Sheaf session");
    return -1;
  }
  Py_XDECREF(self->convert);
  self->convert = convert == Py_None ? nullptr : convert;
  Py_XINCREF(self->convert);
  return 0;
}

void close_session(SessionObject* self) {
  sheaf_session* s = std::exchange(self->session, nullptr);
  if (!s || g_exiting) return;
  PyThreadState* thread = PyEval_SaveThread();
  sheaf_free(s);
  PyEval_RestoreThread(thread);
}

void free_object(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

void session_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<SessionObject*>(o);
  PyObject_GC_UnTrack(o);
  close_session(self);
  Py_CLEAR(self->convert);
  free_object(o);
}

int session_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<SessionObject*>(o)->convert);
  Py_VISIT(Py_TYPE(o));
  return 0;
}

int session_clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<SessionObject*>(o)->convert);
  return 0;
}

PyObject* session_close(PyObject* o, PyObject*) {
  close_session(reinterpret_cast<SessionObject*>(o));
  Py_RETURN_NONE;
}

PyObject* session_eval(PyObject* o, PyObject* text) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (!utf8) return nullptr;
  if (std::memchr(utf8, 0, static_cast<size_t>(size))) {  // the C interface would see an end there
    PyErr_SetString(PyExc_ValueError, "the text has a zero byte in it");
    return nullptr;
  }
  auto* self = reinterpret_cast<SessionObject*>(o);
  return run(self, [&](sheaf_value** out) { return sheaf_eval(self->session, utf8, out); });
}

PyObject* session_run_file(PyObject* o, PyObject* path) {
  PyObject* bytes;
  if (!PyUnicode_FSConverter(path, static_cast<void*>(&bytes))) return nullptr;
  Object owned(bytes);
  auto* self = reinterpret_cast<SessionObject*>(o);
  return run(self, [&](sheaf_value** out) { return sheaf_run_file(self->session, PyBytes_AS_STRING(bytes), out); });
}

PyObject* session_lookup(PyObject* o, PyObject* name) {
  const char* utf8 = PyUnicode_AsUTF8(name);
  if (!utf8) return nullptr;
  auto* self = reinterpret_cast<SessionObject*>(o);
  return run(self, [&](sheaf_value** out) { return sheaf_lookup(self->session, utf8, out); });
}

PyObject* session_call(PyObject* o, PyObject* args, PyObject* named) {
  if (PyTuple_GET_SIZE(args) < 1) {
    PyErr_SetString(PyExc_TypeError, "call needs the name of a function");
    return nullptr;
  }
  const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, 0));
  Parts parts;
  if (!name || !gather(args, 1, named, parts)) return nullptr;
  auto* self = reinterpret_cast<SessionObject*>(o);
  return run(self, [&](sheaf_value** out) {
    return sheaf_call(self->session, name, parts.handles.data(), parts.handles.size(), out);
  });
}

PyMethodDef kSessionMethods[] = {
    {"eval", session_eval, METH_O, "eval(text)\n--\n\nRuns a text; the value of its last form."},
    {"run_file", session_run_file, METH_O, "run_file(path)\n--\n\nRuns a file; the value of its last form."},
    {"lookup", session_lookup, METH_O, "lookup(name)\n--\n\nThe value of a global name."},
    {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(session_call)), METH_VARARGS | METH_KEYWORDS,
     "call(name, *args, **named)\n--\n\nCalls a function by its name in Sheaf."},
    {"close", session_close, METH_NOARGS,
     "close()\n--\n\nEnds the session. Values live on; functions can no longer be called."},
    {nullptr, nullptr, 0, nullptr}};

// ---- Functions ----

void function_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<FunctionObject*>(o);
  sheaf_value_free(self->value);
  Py_CLEAR(self->session);
  free_object(o);
}

PyObject* function_call(PyObject* o, PyObject* args, PyObject* named) {
  auto* self = reinterpret_cast<FunctionObject*>(o);
  Parts parts;
  if (!gather(args, 0, named, parts)) return nullptr;
  SessionObject* s = self->session;
  return run(s, [&](sheaf_value** out) {
    return sheaf_apply(s->session, self->value, parts.handles.data(), parts.handles.size(), out);
  });
}

PyObject* shown_as(sheaf_value* value, const char* format) {
  Value text(sheaf_text_of(value));
  Object s(text ? text_object(text.get()) : PyErr_NoMemory());
  return s ? PyUnicode_FromFormat(format, s.get()) : nullptr;
}

PyObject* function_repr(PyObject* o) { return shown_as(reinterpret_cast<FunctionObject*>(o)->value, "<sheaf %U>"); }

// ---- Tensors ----

const DLTensor& layout_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->layout.dl_tensor; }
// For reading; nullptr with a Python error if it cannot be fetched.
const DLTensor* here(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  if (!self->here)
    if (sheaf_error* e = sheaf_to_dlpack(self->value, &self->here)) {
      raise(e);
      return nullptr;
    }
  return &self->here->dl_tensor;
}

void tensor_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  if (self->here) self->here->deleter(self->here);
  sheaf_value_free(self->value);
  free_object(o);
}

PyObject* tensor_shape(PyObject* o, void*) {
  const DLTensor& t = layout_of(o);
  Object out(PyTuple_New(t.ndim));
  for (int a = 0; out && a < t.ndim; ++a)
    PyTuple_SET_ITEM(out.get(), a, PyLong_FromLongLong(t.shape[a]));
  return out.release();
}

PyObject* tensor_dtype(PyObject* o, void*) { return PyUnicode_FromString(type_of(layout_of(o)).name); }
PyObject* tensor_repr(PyObject* o) { return shown_as(reinterpret_cast<TensorObject*>(o)->value, "sheaf.Tensor(%U)"); }

Py_ssize_t tensor_length(PyObject* o) {
  if (layout_of(o).ndim > 0) return static_cast<Py_ssize_t>(layout_of(o).shape[0]);
  PyErr_SetString(PyExc_TypeError, "a tensor without axes has no length");
  return -1;
}

// The only element, as int, float, complex or bool.
PyObject* tensor_item(PyObject* o, PyObject*) {
  for (int a = 0; a < layout_of(o).ndim; ++a)
    if (layout_of(o).shape[a] != 1) {
      PyErr_SetString(PyExc_ValueError, "only a tensor of one element is a number");
      return nullptr;
    }
  const DLTensor* const found = here(o);
  if (!found) return nullptr;
  const DLTensor& t = *found;
  auto read = [&](auto x) {
    std::memcpy(&x, t.data, sizeof x);
    return x;
  };
  switch (t.dtype.code << 8 | t.dtype.bits) {
    case kDLFloat << 8 | 32: return PyFloat_FromDouble(static_cast<double>(read(float())));
    case kDLFloat << 8 | 64: return PyFloat_FromDouble(read(double()));
    case kDLFloat << 8 | 16:
      return PyFloat_FromDouble(
          PyFloat_Unpack2(static_cast<char*>(t.data), std::endian::native == std::endian::little));
    case kDLBfloat << 8 | 16:
      return PyFloat_FromDouble(static_cast<double>(std::bit_cast<float>(uint32_t{read(uint16_t())} << 16)));
    case kDLInt << 8 | 8: return PyLong_FromLong(read(int8_t()));
    case kDLInt << 8 | 16: return PyLong_FromLong(read(int16_t()));
    case kDLInt << 8 | 32: return PyLong_FromLong(read(int32_t()));
    case kDLInt << 8 | 64: return PyLong_FromLongLong(read(int64_t()));
    case kDLUInt << 8 | 8: return PyLong_FromLong(read(uint8_t()));
    case kDLUInt << 8 | 16: return PyLong_FromLong(read(uint16_t()));
    case kDLUInt << 8 | 32: return PyLong_FromUnsignedLong(read(uint32_t()));
    case kDLComplex << 8 | 64: {
      const auto z = read(std::complex<float>());
      return PyComplex_FromDoubles(static_cast<double>(z.real()), static_cast<double>(z.imag()));
    }
    default: return PyBool_FromLong(read(uint8_t()));
  }
}

PyObject* tensor_float(PyObject* o) {
  Object item(tensor_item(o, nullptr));
  return item ? PyNumber_Float(item.get()) : nullptr;
}
PyObject* tensor_int(PyObject* o) {
  Object item(tensor_item(o, nullptr));
  return item ? PyNumber_Long(item.get()) : nullptr;
}
int tensor_bool(PyObject* o) {
  Object item(tensor_item(o, nullptr));
  return item ? PyObject_IsTrue(item.get()) : -1;
}

// Sizes and strides of a view are kept behind each other in `internal`.
int tensor_get_buffer(PyObject* o, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const DLTensor* const found = here(o);
  if (!found) return -1;
  const DLTensor& t = *found;
  const ElementType& type = type_of(t);
  auto refuse = [](const char* why) {
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
  };
  if (!type.format) return refuse("NumPy has no bfloat16: cast the tensor in Sheaf, or take it with torch.from_dlpack");
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) return refuse("tensors of Sheaf are read-only");
  auto layout = std::make_unique<Py_ssize_t[]>(2 * static_cast<size_t>(t.ndim) + 1);
  Py_ssize_t item = type.bits / 8, expected = item;
  bool contiguous = true;
  view->len = item;
  for (int a = t.ndim - 1; a >= 0; --a) {
    layout[static_cast<size_t>(a)] = t.shape[a];
    layout[static_cast<size_t>(t.ndim + a)] = t.strides[a] * item;
    contiguous = contiguous && (t.shape[a] == 1 || t.strides[a] * item == expected);
    expected *= t.shape[a];
    view->len *= t.shape[a];
  }
  if (!contiguous && view->len > 0 && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
    return refuse("the tensor is not contiguous");
  view->buf = t.data;
  view->itemsize = item;
  view->readonly = 1;
  view->ndim = t.ndim;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(type.format) : nullptr;
  view->shape = flags & PyBUF_ND ? layout.get() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout.get() + t.ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = layout.release();
  view->obj = o;
  Py_INCREF(o);
  return 0;
}

void tensor_release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyObject* tensor_dlpack(PyObject* o, PyObject* args, PyObject* named) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, named, "|$OOOO", const_cast<char**>(names), &stream, &version, &device, &copy))
    return nullptr;
  const DLDevice home = layout_of(o).device;
  int type = home.device_type, id = home.device_id;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id)) return nullptr;
  if ((type != kDLCPU && (type != home.device_type || id != home.device_id)) || copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "tensors of Sheaf are shown where they are, or in the memory of the CPU");
    return nullptr;
  }
  // All that writes to it is complete, so no stream has to wait.
  DLManagedTensor* m = nullptr;
  auto* const show = type == kDLCPU ? sheaf_to_dlpack : sheaf_to_dlpack_on_device;
  if (sheaf_error* e = show(reinterpret_cast<TensorObject*>(o)->value, &m)) return raise(e);
  PyObject* capsule = PyCapsule_New(m, "dltensor", [](PyObject* c) {
    if (!PyCapsule_IsValid(c, "dltensor")) return;  // a consumer has taken it over
    auto* unused = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(c, "dltensor"));
    unused->deleter(unused);
  });
  if (!capsule) m->deleter(m);
  return capsule;
}

PyObject* tensor_dlpack_device(PyObject* o, PyObject*) {
  const DLDevice home = layout_of(o).device;
  return Py_BuildValue("(ii)", static_cast<int>(home.device_type), static_cast<int>(home.device_id));
}

PyMethodDef kTensorMethods[] = {
    {"item", tensor_item, METH_NOARGS, "item()\n--\n\nThe only element."},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_dlpack)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kTensorFields[] = {{"shape", tensor_shape, nullptr, "The sizes of the axes.", nullptr},
                               {"dtype", tensor_dtype, nullptr, "The element type, named as in NumPy.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- The module ----

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

PyTypeObject* make_type(const char* name, size_t size, unsigned flags, std::vector<PyType_Slot> slots) {
  slots.push_back({0, nullptr});
  PyType_Spec spec{name, static_cast<int>(size), 0, static_cast<unsigned>(Py_TPFLAGS_DEFAULT) | flags, slots.data()};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

bool make_types() {
  g_session_type = make_type("sheaf._sheaf.Session", sizeof(SessionObject), Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             {slot(Py_tp_init, session_init),
                              slot(Py_tp_new, PyType_GenericNew),
                              slot(Py_tp_dealloc, session_dealloc),
                              slot(Py_tp_traverse, session_traverse),
                              slot(Py_tp_clear, session_clear),
                              {Py_tp_methods, kSessionMethods}});
  g_function_type = make_type(
      "sheaf.Function", sizeof(FunctionObject), Py_TPFLAGS_DISALLOW_INSTANTIATION,
      {slot(Py_tp_dealloc, function_dealloc), slot(Py_tp_call, function_call), slot(Py_tp_repr, function_repr)});
  g_tensor_type = make_type("sheaf.Tensor", sizeof(TensorObject), Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            {slot(Py_tp_dealloc, tensor_dealloc),
                             slot(Py_tp_repr, tensor_repr),
                             {Py_tp_methods, kTensorMethods},
                             {Py_tp_getset, kTensorFields},
                             slot(Py_mp_length, tensor_length),
                             slot(Py_nb_float, tensor_float),
                             slot(Py_nb_int, tensor_int),
                             slot(Py_nb_bool, tensor_bool),
                             slot(Py_bf_getbuffer, tensor_get_buffer),
                             slot(Py_bf_releasebuffer, tensor_release_buffer)});
  g_error_type = PyErr_NewExceptionWithDoc(
      "sheaf.Error", "An error of a Sheaf program: kind, message, file, line, column, report.", nullptr, nullptr);
  g_keyword_type = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){ss}", "Keyword",
                                         &PyUnicode_Type, "__module__", "sheaf");
  return g_session_type && g_function_type && g_tensor_type && g_error_type && g_keyword_type;
}

PyObject* leave(PyObject*, PyObject*) {
  g_exiting = true;
  Py_RETURN_NONE;
}

PyObject* use_device(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  if (sheaf_error* e = sheaf_use_device(text)) return raise(e);
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"use_device", use_device, METH_O,
     "use_device(name)\n--\n\nWhere sessions compute: \"cpu\", \"cuda\", \"cuda:1\" or \"sim\". "
     "At most once, before the first session."},
    {"_leave", leave, METH_NOARGS, "The process ends: nothing is given back any more."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "sheaf._sheaf", nullptr, -1, kFunctions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__sheaf() {  // NOLINT(bugprone-reserved-identifier): Python looks for this name
  if (!make_types()) return nullptr;
  PyObject* m = PyModule_Create(&kModule);
  if (!m) return nullptr;
  auto add = [&](const char* name, PyObject* o) {
    Py_INCREF(o);
    return PyModule_AddObject(m, name, o) == 0;
  };
  if (add("Session", reinterpret_cast<PyObject*>(g_session_type)) &&
      add("Function", reinterpret_cast<PyObject*>(g_function_type)) &&
      add("Tensor", reinterpret_cast<PyObject*>(g_tensor_type)) && add("Error", g_error_type) &&
      add("Keyword", g_keyword_type) && PyModule_AddStringConstant(m, "version", sheaf_version()) == 0)
    return m;
  Py_DECREF(m);
  return nullptr;
}
