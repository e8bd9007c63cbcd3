// Package audit writes down what administrators have done to a server: who, from where, what, and what came of it. A record is a
// line of JSON:
//
//	{"time":"2026-01-02T15:04:05.678Z","client":7,"addr":"10.0.0.9:40112","user":"alice","db":0,"call":"\"CONFIG\" \"SET\" \"maxmemory\" \"2gb\"","result":"OK"}
//
// Who adds records never waits for a disk: they go into a queue that a goroutine writes. The queue is bounded. What a writer that hangs or
// fails leaves no room for is lost, and a line says how many records that were as soon as lines can be written, as does the server's log
// at once. Half of the room is for records of clients that have shown who they are, so that a flood of wrong passwords pushes out none of
// them.
//
// The package knows no commands and no server. What is an act of administration, and how its secrets are hidden, its caller says.
package audit
