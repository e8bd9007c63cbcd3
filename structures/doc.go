// Package structures holds the data types that a key can have: lists, hashes,
// big strings, HyperLogLog and Bloom filters, and the bit arithmetic on
// strings.
//
// The one idea: a method that changes a value writes, in the same call, the
// record of that change into the [Change] it is given. A value cannot be
// changed without a journal record, and the record, applied to the value as it
// was before, gives the value as it is after (see [Value.Apply]).
//
// Values with a model of their own are in sub-packages: stream, schedule and placemap.
// Package types has the table of all types, package rdb their form in Redis.
//
// It promises pure data: no locks, no input or output, no clock and no random
// source. Time and random choices arrive as arguments. It does not know of
// keys, expiry or clients: that is the business of packages persistence and
// server.
package structures
