// Package cuckoo holds cuckoo filters: sets that one can ask whether something is in
// them, add to them and take from them, at about a byte an item.
//
// A filter is buckets of some slots, and of an item it keeps one byte, its fingerprint, in
// one of two buckets (Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically
// Better Than Bloom", CoNEXT 2014). The second bucket follows from the first one and the
// fingerprint, so that a fingerprint can be moved there without knowing the item: when both
// buckets are full, one of those in them has to go to its other bucket, and so on. If that
// does not come to an end, another sub-filter is put on top. Everything lies where RedisBloom
// puts it, so that dumps travel both ways:
//
//	h = MurmurHash64A(item, seed 0), fingerprint f = h mod 255 + 1, h' = h xor f * 0x5bd1e995
//	an item is in bucket h mod n or h' mod n of a sub-filter of n buckets
//	sub-filter k has n0 * expansion^k buckets
//
// Nothing is drawn: the same changes give the same slots on every machine, so that the journal
// has the items. An item that was never added must not be deleted: it takes away the
// fingerprint of another one, which is then missing.
package cuckoo
