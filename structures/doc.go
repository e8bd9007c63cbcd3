// Package structures holds what all values of keys have in common: the interface
// [Value], the record of a [Change], forms that rest as bytes ([Compact]), keyed hashes,
// and bytes by the hundred megabytes.
//
// Each type has a folder: text, list, hash, set, zset, stream, bloom, json, schedule, placemap.
// Packages bits and hyll work on the bytes of strings. Package types has the table of all
// types, package rdb their form in Redis.
//
// The one idea: a method that changes a value writes, in the same call, the
// record of that change into the [Change] it is given. A value cannot be
// changed without a journal record, and the record, applied to the value as it
// was before, gives the value as it is after (see [Value.Apply]).
//
// It promises pure data: no locks, no input or output, no clock and no random
// source. Time and random choices arrive as arguments. It does not know of
// keys, expiry or clients: that is the business of packages persistence and
// server.
package structures
