// Package countmin holds count-min sketches: how often each of many items was seen, in a
// table of fixed size (Cormode and Muthukrishnan, "An Improved Data Stream Summary: The
// Count-Min Sketch and its Applications", 2005).
//
// A sketch has depth rows of width cells. An item counts in one cell of each row, which a hash of
// the row chooses, and the least of these cells is the estimate: never below the truth,
// because cells only grow, and above it by what other items have left in the best of its
// cells. With width 2/e and depth log2(1/p) the excess is at most e times the number
// of all that was counted, with probability 1-p (Markov's inequality for a row, and
// rows that are independent).
//
// Cells lie where RedisBloom puts them, so that dumps travel both ways:
//
//	row r: MurmurHash2-32(item, seed r) mod width; 32 bits, little endian, row after row
package countmin
