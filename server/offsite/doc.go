// Package offsite copies a store to another place while it is written, and makes stores of such copies.
//
//	prefix/
//	  vigil-backup                      what the target is, in JSON
//	  objects/ab/abcd...                a piece of a file, named by its content
//	  backups/20260102T030405.678Z      a backup: the files of a snapshot as pieces, and the log behind it
//	  log/20260102T030405.678Z/00000001 how the log goes on, one after the other
//
// The one idea: nothing at the target ever changes. Tables of the store do not, and neither does what of the log has reached the
// device, so a piece is there or it is not. A backup uploads the pieces that are missing and then, last, the object that names
// them all: whatever interrupts it, what is listed under backups/ is whole. What no backup names is removed after the next one.
//
// Between backups the log is uploaded as it grows, with the number of the newest record at each second. So a restore
// can end at any of these seconds: it takes the newest backup before it, adds the log, and ends it behind the record.
//
// With a key each object is sealed by AES-256 in GCM under its own name, and the names of pieces are keyed too, so that they do not tell what
// is in them. The target sees how many bytes there are, and when.
//
// The package knows neither commands nor the server: the store is a [Source], the place a [Target]. What a client of S3 needs is in
// package s3, which programs that embed the server do without. One process at a time writes to a target; another one of the
// same store, which was restored from it, takes the target over, and the first one then refuses to go on.
package offsite
