// Package topk holds lists of the most frequent items of a stream, in memory of fixed
// size, by HeavyKeeper (Yang, Zhang, Li et al., "HeavyKeeper: An Accurate Algorithm for
// Finding Top-k Elephant Flows", USENIX ATC 2018).
//
// A sketch has depth rows of width buckets. A bucket belongs to one item at a time, and
// has its fingerprint and a count. An item that hashes to a bucket of another one takes from
// its count with a probability that falls exponentially with that count, decay^count, and
// takes the bucket over when the count is 0: an item that is frequent keeps its buckets,
// one that is rare soon loses them. The k items of the greatest counts are kept in a heap, the least
// on top.
//
// Everything lies where RedisBloom puts it, so that dumps travel both ways:
//
//	row r: MurmurHash2-32(item, seed r) mod width; fingerprint MurmurHash2-32(item, seed 1919)
//
// Chance comes from a seed that a change is given and that its record has: a replay
// draws the same numbers. The generator is a part of the format, see draw.go.
package topk
