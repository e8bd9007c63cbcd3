// Package journal is the part of the store's journal that is in memory: it numbers
// records, gathers them into chunks in the order of their numbers, and knows how
// far chunks have got on their way to the device.
//
//	Append -> open chunk -> full chunks -> Take -> written by the caller -> Recycle
//
// The one idea: records get their numbers under the locks of what they are about,
// so that their order is the order of effects; everything slow is done by the
// caller with whole chunks, away from those locks.
//
// A [Journal] has the chunks that the caller did not take yet. [Durability] knows up to which record
// the device has them, and lets goroutines wait for that. [Log] has the sizes of the chunks that are stored, and their files.
//
// It promises that numbers, of records and of chunks, start at 1 and have no gaps,
// and that chunks are taken in order. It does no I/O and knows neither what a record
// says nor how a chunk is stored: the first [HeaderBytes] of a chunk are the
// caller's.
package journal
