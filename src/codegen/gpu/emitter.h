// The walk that prints a launch; private to emit*.cpp. Statements are printed for a team of threads (schedule.h) until
// one shares its elements out; inside of it they are printed for one thread.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/gpu/arithmetic.h"
#include "codegen/gpu/emit.h"
#include "codegen/gpu/ranges.h"
#include "codegen/gpu/scatter.h"

namespace sheaf::codegen::gpu {

class Emitter {
 public:
  Emitter(const loop::Kernel& k, const Part& part, const Schedule& s, std::span<const int64_t> sizes, Helpers& helpers);
  EmittedLaunch run(std::string name);

 private:
  using Stmt = loop::Stmt;
  using ValueId = loop::ValueId;
  using Stmts = std::vector<const Stmt*>;
  enum class Team : uint8_t { Thread, Warp, Block };

  // What is printed: values that a store, a check or an extent needs, and statements with effects or results in use.
  void find_live();
  void live_stmt(const Stmt& s);
  void live_value(ValueId v, bool folds = false);
  void live_reduce(const Stmt& s);
  bool is_live(const Stmt& s) const;

  // Lines of text.
  void line(std::string_view text);
  void open(std::string_view text);
  void close(std::string_view text = "}");

  // Values.
  std::string ref(ValueId v);
  std::string folded(ValueId v, int level);  // as part of plain arithmetic; level 1 in a sum, 2 in a product
  std::string plain(ValueId v, int level);   // the expression of a plain value
  std::string expression(ValueId v);
  std::string type_of(ValueId v) const;
  void let(ValueId v);
  void ensure(ValueId v);  // a value made of sizes alone, printed where it is first needed
  std::string int_name(ValueId v) const { return ranges_.is_narrow(v) ? "int" : "long long"; }
  std::string product(const Stmts& loops);
  std::string integer(double bound) const { return bound <= ValueRange::kNarrow ? "int" : "long long"; }

  std::string index_name(int64_t axis) const {
    return "i" + std::to_string(axis) + (axis == first_of_axis_ ? "_first" : "");
  }

  // Statements.
  void top_lets();
  void items();
  void stmts(const Stmts& all);
  static Stmts pointers(const loop::Block& b) {
    Stmts out;
    for (const Stmt& s : b)
      out.push_back(&s);
    return out;
  }
  void stmt(const Stmt& s);
  void loop(const Stmt& s);
  void shared_loop(const Stmt& s);
  void serial_loop(const Stmt& s);
  const loop::Block& open_nest(const Stmts& nest, const std::string& flat, bool is_int);
  void pieces(const Stmts& nest, const std::string& group);
  // A body for `length` neighbouring elements of a loop or reduction, the first of which has the index i…_first: pieces
  // are read, each element computed, then what `element` prints, and pieces written. `turn`: they were read before,
  // into arrays (declare_pieces, read_piece), of which this names the element.
  void piece(const Stmts& body, const Stmt& along, int length, const std::function<void()>& element,
             const std::string& turn = "");
  void declare_pieces(const Stmts& body, const Stmt& along, int length, int turns);
  void read_piece(const Stmts& body, const Stmt& along, int length, const std::string& turn);
  bool moves(const Stmt& s, const Stmt& along) const;  // a load that pieces are read for
  void shared_pieces(const Stmt& s, int length);
  int row_piece(const Stmt& s) const { return s_.vector > 1 ? gpu::row_piece(k_, s, ranges_, sizes_) : 1; }
  void several(const Stmts& nest, const std::string& flat, const std::string& total);
  // Reads what `turns` iterations of a body load before any of them stores: a load waits for the stores before it, as
  // they may be to the same memory. `open_turn` and `close_turn` print the loop over turns. `needed`: all loads, or
  // these.
  void read_ahead(const Stmts& body, int turns, const std::string& turn, const std::function<void()>& open_turn,
                  const std::function<void()>& close_turn, const std::set<ValueId>* needed = nullptr);
  void row_loop(const Stmt& s, const std::function<void()>& element);
  std::set<ValueId> loads_of_row(const Stmt& s) const;
  void store(const Stmt& s);
  std::string num_checks(const Stmt& s);
  std::string num_checks(const Stmts& all);
  std::string key_in_loop(const Stmt& s, const std::string& index);
  void check(const Stmt& s);

  // Reductions (emit_reduce.cpp).
  void reduce(const Stmt& s);
  void reduce_by_thread(const Stmt& s);
  void reduce_by_warp(const Stmt& s);
  void reduce_by_block(const Stmt& s);
  void elements(const Stmt& s, const std::string& begin, const std::string& end, int64_t step, const std::string& into,
                const std::string& position);
  // The same in pieces of `length`; element u of a piece is combined into what `into` names with u.
  void elements_in_pieces(const Stmt& s, int length, const std::string& first, const std::string& end, int64_t step,
                          const std::string& into);
  // How many elements or pieces of a row a thread has under way.
  int turns_at_once(const Stmt& s, const Stmt& along, int length) const;
  bool may_read_ahead(const Stmts& body) const;
  // A loop of turns, `step` apart, of `lanes` neighbours each. `count` of them read before any of them computes. A turn
  // is there if `span` elements from its index on are.
  struct Turns {
    std::string index, type, first, end;
    int64_t step;
    int lanes, span, count;
  };
  // `element` prints what follows the body's statements, for each of `length` neighbours along `along`.
  void in_turns(Turns t, const Stmts& body, const Stmt& along, int length, const std::function<void()>& element);
  void turns(const Turns& t, bool all_there, const Stmts& body, const Stmt& along, int length,
             const std::function<void()>& element);
  // A thread's share of a block of kReduceBlock elements, of which `length` neighbouring lanes are its own, and the
  // block's total on the first thread of its group.
  void lanes_in_pieces(const Stmt& s, int length, const std::string& begin, const std::string& end);
  std::string team_function(std::string_view what, const Stmt& s);

  // Reductions that several blocks share (emit_totals.cpp).
  void totals_of_all();
  void columns();
  void accumulate_columns(const Stmt& s, const std::string& begin, const std::string& end, const Stmt& column);
  void combine_totals(const Stmt& s);
  std::string blocks_of(const Stmt& s);  // how many blocks of kReduceBlock elements there are
  int64_t blocks_of_longest() const;
  std::string parts_of(const Stmt& s);  // SumAll: how many blocks of threads share them
  int64_t parts_of_longest() const;
  static std::string item_name(const Stmts& nest) {
    return nest.size() == 1 ? "i" + std::to_string(nest[0]->axis) : "item";
  }
  const Stmt& shared_reduction() const { return *reduce_of_[static_cast<size_t>(s_.reduction)]; }
  void use_workspace(const Stmt& s, int64_t totals);

  // Loops over places that data decides (emit_scatter.cpp).
  void scatter();
  void iterations(const Scatter& s);
  void print_for(const Stmts& body, ValueId v);

  // Rows in registers.
  void keep_row(const Stmts& body);
  void open_row_loop(const Stmt& s, const std::string& first, int count);

  // Memory that another thread of the team may have touched since the last barrier.
  void wait_for(const Stmt& s);
  void barrier();
  std::string first_of_team() const { return team_ == Team::Warp ? "lane == 0" : "thread == 0"; }

  DType reduced(const Stmt& s) const { return k_.reduction_types[static_cast<size_t>(s.id)]; }

  const loop::Kernel& k_;
  const Part& part_;
  const Schedule& s_;
  std::span<const int64_t> sizes_;
  Helpers& helpers_;
  Arithmetic arithmetic_;
  Ranges ranges_;
  Team team_ = Team::Thread;

  std::vector<const Stmt*> reduce_of_;  // by reduction
  std::vector<bool> live_;              // by value
  std::vector<bool> live_reduce_;       // by reduction
  std::vector<int> uses_, folding_uses_;
  std::vector<bool> has_let_;  // by value: in a block

  std::string text_;
  int depth_ = 1;
  std::vector<std::string> names_;  // by value, once printed
  int next_name_ = 0;
  std::set<int> used_buffers_, used_sizes_;
  bool uses_check_ = false, reads_ahead_ = false;
  int64_t workspace_bytes_ = 0;
  int first_of_axis_ = -1;                // whose index is that of the first element of a piece
  std::map<ValueId, std::string> kept_;   // by load: where its value is, in a piece or in registers
  std::map<ValueId, std::string> keeps_;  // by load: where its value is kept for later loops
  int next_ahead_ = 0;
  std::map<const Stmt*, std::string> kept_stores_;
  std::map<ValueId, std::string> pieces_;  // by load: the piece that was read
  int next_piece_ = 0, kept_registers_ = 0;
  std::set<const Stmt*> row_loops_;
  std::string workspace_type_;
  std::string store_guard_;  // of one thread's statements: who stores
  std::string key_;          // where a check stands in the order of the part; empty: first
  std::set<int> loaded_, stored_;
  int serial_loops_ = 0;  // around the statement, of a team
};

}  // namespace sheaf::codegen::gpu
