// Tokenizers of other forms, written as the document that Tokenizer reads. All are pure functions over the bytes of
// files; damage is a UserError.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sheaf::tokenizers {

// GPT-2's pair of files: {"token": id, …} and one merge a line, both in the byte alphabet. The second has a name of its
// own in messages. A vocabulary with <s> and </s> is RoBERTa's, which puts them around texts.
std::string document_of_merges(std::string_view vocab_json, std::string_view merges,
                               std::string_view merges_name = "merges.txt");
// BERT's vocab.txt: a token a line, the number of the line is its id. `config`: the tokenizer_config.json of the same
// folder, or nothing. Unless that says so, upper case becomes lower case where no token of a word has upper case.
std::string document_of_word_pieces(std::string_view lines, std::string_view config);
// Lines of an id, a tab and a token; a token in double quotes is a JSON string. Texts are written with the longest
// token that fits, from the left. Tokens are taken to be in the byte alphabet when that is how they write spaces.
std::string document_of_list(std::string_view lines);

// Every character of the text is a token, in the order of their numbers in Unicode.
std::string document_of_characters(std::string_view text);

// A byte-level BPE: tokens in the order of their ids, in the byte alphabet; the first `num_special` are special and
// plain text. `pattern`: what splits text into words.
std::string document_of_bpe(const std::vector<std::string>& tokens, size_t num_special,
                            const std::vector<std::pair<std::string, std::string>>& merges, std::string_view pattern);

}  // namespace sheaf::tokenizers
