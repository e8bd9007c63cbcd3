// Package feed tells what a store records as commands of Redis, for servers that follow it (ADR 0099).
//
// Which type an operation belongs to, and what some of them did, only the value knows. So the operations of types become commands where
// they move into a record ([Telling.Add]), by their value and with its lock; the others when the record is complete ([Feed.Record]). Without a
// feed all that costs is to look whether there is one.
//
// A feed has the order of the journal: its mutex is held while a record gets its number and is given to the [Receiver], which must not wait.
// It takes no lock of the store. What commands cannot tell ends it, and the receiver is told why.
package feed
