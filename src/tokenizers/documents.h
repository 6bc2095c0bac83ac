// Converts tokenizers in other formats to the document that Tokenizer reads. All are pure functions over the bytes of
// files; damage is a UserError.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sheaf::tokenizers {

// GPT-2's pair of files: {"token": id, …} and one merge per line, both in the byte alphabet. Messages name the second
// file by its own name. A vocabulary with <s> and </s> is RoBERTa's, which adds them around texts.
std::string document_of_merges(std::string_view vocab_json, std::string_view merges,
                               std::string_view merges_name = "merges.txt");
// BERT's vocab.txt: a token per line, whose line number is its id. `config`: the tokenizer_config.json of the same
// folder, or empty. Unless that decides, text is lowercased if no token of a word has upper case.
std::string document_of_word_pieces(std::string_view lines, std::string_view config);
// Lines of an id, a tab and a token; a token in double quotes is a JSON string. Encodes with the longest matching
// token, from the left. Tokens count as byte-alphabet text if they write spaces that way.
std::string document_of_list(std::string_view lines);

// Every distinct character of the text becomes a token, in code point order.
std::string document_of_characters(std::string_view text);

// A byte-level BPE: tokens in id order, in the byte alphabet; the first `num_special` are special and plain text.
// `pattern` splits text into words.
std::string document_of_bpe(const std::vector<std::string>& tokens, size_t num_special,
                            const std::vector<std::pair<std::string, std::string>>& merges, std::string_view pattern);

}  // namespace sheaf::tokenizers
