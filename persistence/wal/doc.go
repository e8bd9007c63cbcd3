// Package wal reads the write-ahead log of Pebble, and the manifest, before
// Pebble does, and tells what a crash cut short from what is damaged. The journal of a store that is alone is in package log.
//
// The one idea: Pebble takes anything that does not decode for the end of a log. So a file of
// ours, the mark, is told each time how much of a log the device has ([FS], [Mark]; of segments by others), and before
// a store is opened its files are held against it ([Inspect]). A [Damage] is what is not as the
// mark says; a log can be cut there ([Layout.PutAside], [Layout.Cut]), and what that loses is
// counted ([Loss]). The copies that snapshots are get a mark of their own ([MarkCopy]).
//
// It owns the file of the mark, and touches logs only to cut them: everything else it reads. It
// knows of records what package format says, and nothing of keys and values.
//
// A sync of a log waits for the write of the mark, under its mutex, before Pebble learns that
// it is done; nothing else waits for anything here.
package wal
