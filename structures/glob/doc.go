// Package glob matches keys, channels and parameter names against the patterns
// of KEYS, SCAN, PSUBSCRIBE and CONFIG GET.
//
// The one idea: after a star has been matched, no earlier star ever needs to be
// tried again. If what follows the later star matches nowhere in the rest of
// the text, it cannot fit in a shorter rest either. So one remembered position
// is enough, and the work is bounded by the length of the pattern times the
// length of the text, for any pattern.
//
// A pattern is bytes, not characters:
//
//   - any bytes, also none
//     ?       one byte
//     [abc]   one of these; [^abc] none of these; [a-z] a range, either way round
//     \x      x itself, also within a class
//
// A class that is not closed reaches to the end of the pattern. It does not
// know of UTF-8, nor of slashes.
package glob
