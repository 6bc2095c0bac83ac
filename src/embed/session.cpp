// Sessions. User code may nest deeply, so each session runs it on a thread with a large stack and its callers wait.
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "builtins/host/output.h"
#include "builtins/host/process.h"
#include "builtins/table.h"
#include "compiler/code_store.h"
#include "embed/handle.h"
#include "eval/interactive.h"
#include "runtime/device.h"
#include "support/interrupt.h"
#include "support/large_stack.h"
#include "support/mutex.h"
#include "syntax/reader.h"

namespace sheaf::embed {
namespace {

// Calls that run now, in all sessions.
std::atomic<int> g_running{0};

// Where sessions compute is settled by the first one, or by sheaf_use_device.
Mutex g_device_mutex;
bool g_device_is_settled GUARDED_BY(g_device_mutex) = false;

}  // namespace
}  // namespace sheaf::embed

struct sheaf_session {
  using Work = std::function<sheaf::Value(sheaf::eval::Session&)>;

  sheaf_session() {
    thread_.start([this] { serve(); });
    sheaf::MutexLock lock(mu_);
    while (!started_)
      changed_.wait(mu_);
  }
  ~sheaf_session() {
    {
      sheaf::MutexLock turn(turn_);
      sheaf::MutexLock lock(mu_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  // Nothing when the session began well.
  bool failed_to_start() const { return failed_to_start_; }

  // Does the work on the session's thread; an error, or nullptr and the value.
  sheaf_error* run(const Work& work, sheaf_value** out) noexcept {
    if (out) *out = nullptr;
    return sheaf::embed::caught([&] {
      if (pthread_equal(pthread_self(), runner_))
        throw sheaf::embed::HostError{"the session was called from inside its own call"};
      sheaf::MutexLock turn(turn_);
      Job job{&work, {}, {}};
      {
        sheaf::MutexLock lock(mu_);
        job_ = &job;
        changed_.notify_all();
        while (job_)
          changed_.wait(mu_);
      }
      if (job.thrown) std::rethrow_exception(job.thrown);
      if (!out) return;
      auto owner = sheaf::embed::owner_of(job.result, id_);
      *out = new sheaf_value{std::move(job.result), owner};
    });
  }

  sheaf::Value call(sheaf::eval::Session& s, const char* name, std::vector<sheaf::Value> args) {
    // Copied: the call may change the table.
    sheaf::Value caller = caller_of(s, name, args.size());
    return s.call(caller, std::move(args));
  }
  // New definitions may change what a call by name means.
  void forget_callers() { callers_.clear(); }

  std::vector<sheaf::Value> accept(sheaf_value* const* args, size_t num_args) const {
    std::vector<sheaf::Value> out;
    out.reserve(num_args);
    for (size_t i = 0; i < num_args; ++i)
      out.push_back(accept(*args[i]));
    return out;
  }
  const sheaf::Value& accept(const sheaf_value& v) const {
    if (v.owner != 0 && v.owner != id_)
      throw sheaf::embed::HostError{"a function, atom or future of another session was given to this one"};
    return v.value;
  }

  // Safe in a signal handler.
  void interrupt() {
    if (busy_) sheaf::builtins::interrupt();
  }

 private:
  struct Job {
    const Work* work;
    sheaf::Value result;
    std::exception_ptr thrown;
  };

  static sheaf::embed::Owner next_id() {
    static std::atomic<sheaf::embed::Owner> last{0};
    return ++last;
  }

  void serve() {
    std::optional<sheaf::eval::Session> session;
    try {
      session.emplace();
      session->set_interactive(true);
    } catch (...) {
      failed_to_start_ = true;
    }
    runner_ = pthread_self();
    {
      sheaf::MutexLock lock(mu_);
      started_ = true;
      changed_.notify_all();
    }
    while (Job* job = next_job()) {
      perform(*session, *job);
      sheaf::MutexLock lock(mu_);
      job_ = nullptr;
      changed_.notify_all();
    }
    callers_.clear();
  }

  // Waits for one; nullptr when the session ends.
  Job* next_job() {
    sheaf::MutexLock lock(mu_);
    while (!job_ && !ends_)
      changed_.wait(mu_);
    return job_;
  }

  void perform(sheaf::eval::Session& session, Job& job) {
    if (sheaf::embed::g_running++ == 0) sheaf::builtins::clear_interrupts();
    busy_ = true;
    try {
      job.result = (*job.work)(session);
    } catch (const sheaf::StopError&) {
      job.thrown = std::current_exception();
      sheaf::g_interrupted = false;  // what begins now, while other sessions run, is not meant
    } catch (...) {
      job.thrown = std::current_exception();
    }
    try {
      sheaf::builtins::flush_out();
    } catch (...) {
      if (!job.thrown) job.thrown = std::current_exception();
    }
    busy_ = false;
    --sheaf::embed::g_running;
  }

  // A function that does nothing but (name arg …): a call from outside is then an ordinary call, compiled when those
  // are.
  sheaf::Value caller_of(sheaf::eval::Session& s, const std::string& name, size_t num_args) {
    sheaf::Value& known = callers_[{name, num_args}];
    if (!known.is_nil()) return known;
    auto forms = sheaf::syntax::read_all(sheaf::add_source("<call>", name, sheaf::SourceKind::Repl));
    if (forms.size() != 1 || !forms[0]->is_symbol())
      throw sheaf::embed::HostError{fmt::format("'{}' is not the name of a function", name)};
    const char* prefix = name.starts_with("arg-") ? "argument-" : "arg-";
    std::string parameters, call = "(" + name;
    for (size_t i = 1; i <= num_args; ++i) {
      parameters += fmt::format("{}{}{}", i > 1 ? " " : "", prefix, i);
      call += fmt::format(" {}{}", prefix, i);
    }
    known = s.run_text(fmt::format("(fn [{}]\n  {}))", parameters, call), "<call>", sheaf::SourceKind::Repl);
    return known;
  }

  const sheaf::embed::Owner id_ = next_id();
  sheaf::Mutex turn_;  // held by the caller whose work is done
  sheaf::Mutex mu_;
  sheaf::CondVar changed_;
  Job* job_ GUARDED_BY(mu_) = nullptr;
  bool started_ GUARDED_BY(mu_) = false, ends_ GUARDED_BY(mu_) = false;
  // Set before started_, and not changed afterwards.
  bool failed_to_start_ = false;
  pthread_t runner_{};
  std::atomic<bool> busy_{false};
  std::map<std::pair<std::string, size_t>, sheaf::Value> callers_;  // of the session's thread
  sheaf::LargeStackThread thread_;
};

const char* sheaf_version() { return SHEAF_VERSION; }

sheaf_error* sheaf_use_device(const char* name) {
  return sheaf::embed::caught([&] {
    sheaf::MutexLock lock(sheaf::embed::g_device_mutex);
    if (sheaf::embed::g_device_is_settled)
      throw sheaf::embed::HostError{"the device is chosen once, before the first session"};
    const std::string device = name;
    if (device != "cpu") sheaf::runtime::g_device = &sheaf::runtime::open_device(device);
    sheaf::embed::g_device_is_settled = true;
  });
}

sheaf_session* sheaf_new() {
  try {
    {
      sheaf::MutexLock lock(sheaf::embed::g_device_mutex);
      sheaf::embed::g_device_is_settled = true;
    }
    static std::once_flag once;
    std::call_once(once, [] {
      sheaf::enable_atomic_counts();  // values are shared with the host's threads
      sheaf::compiler::set_code_folder(sheaf::compiler::default_code_folder());
    });
    auto s = std::make_unique<sheaf_session>();
    return s->failed_to_start() ? nullptr : s.release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void sheaf_free(sheaf_session* s) { delete s; }

sheaf_error* sheaf_eval(sheaf_session* s, const char* text, sheaf_value** out) {
  return s->run(
      [&](sheaf::eval::Session& session) {
        s->forget_callers();
        return sheaf::eval::run_interactively(
            session, sheaf::syntax::read_all(sheaf::add_source("<eval>", text, sheaf::SourceKind::Repl)));
      },
      out);
}

sheaf_error* sheaf_run_file(sheaf_session* s, const char* path, sheaf_value** out) {
  return s->run(
      [&](sheaf::eval::Session& session) {
        s->forget_callers();
        return session.run_file(path);
      },
      out);
}

sheaf_error* sheaf_call(sheaf_session* s, const char* name, sheaf_value* const* args, size_t num_args,
                        sheaf_value** out) {
  return s->run([&](sheaf::eval::Session& session) { return s->call(session, name, s->accept(args, num_args)); }, out);
}

sheaf_error* sheaf_apply(sheaf_session* s, const sheaf_value* function, sheaf_value* const* args, size_t num_args,
                         sheaf_value** out) {
  return s->run(
      [&](sheaf::eval::Session& session) { return session.call(s->accept(*function), s->accept(args, num_args)); },
      out);
}

sheaf_error* sheaf_lookup(sheaf_session* s, const char* text, sheaf_value** out) {
  return s->run(
      [&](sheaf::eval::Session& session) {
        sheaf::Name name(text);
        sheaf::eval::Globals& g = session.globals();
        // Asking must not create the name.
        bool known =
            g.find_user(name) || g.is_prelude_name(name) || (text[0] != '%' && sheaf::builtins::find_builtin(text));
        sheaf::Value v = known ? g.user_cell(name)->value : sheaf::Value::unbound();
        if (v.tag() == sheaf::Tag::Unbound)
          throw sheaf::UserError(sheaf::ErrorKind::Compile, fmt::format("Undefined symbol: {}", text));
        return v;
      },
      out);
}

void sheaf_interrupt(sheaf_session* s) { s->interrupt(); }
