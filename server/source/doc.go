// Package source is what a server has for servers that follow it, as replicas of Redis do (ADR 0099): full syncs, the stream of
// commands, and the backlog from which a replica that was away goes on.
//
// The one idea: a replica takes bytes. What it is to get next is a position, in the file of a pass or in the backlog;
// the owner of its connection asks for some of it whenever the connection has room ([Replica.Fill]). So a slow replica costs a
// position, and nothing waits for it: what all of them have not got is in memory once.
//
// The stream is made of records as they are written ([persistence.Feed]), and of what is put between them: PING, REPLCONF GETACK,
// PUBLISH. An offset counts all of its bytes. A pass writes the keys as they were behind one record; the position of that record in the
// stream is where replicas of the pass go on, and the first command behind it begins with SELECT.
//
// It promises that the backlog is no longer than its size, or than the limit for replicas while one of them needs it; that there is one
// pass at a time, for all that wait when it begins; and that a replica which takes nothing, or confirms nothing, for the timeout is
// dropped. It does not survive a restart: the identifier of the stream is then another one, and replicas make a full sync.
package source
