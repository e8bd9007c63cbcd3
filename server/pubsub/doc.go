// Package pubsub delivers messages to the clients that subscribe to their channels.
//
// It owns the subscribers of every channel and pattern (a [Broker]), what one client
// subscribes to ([Subscriptions]), which shard channels there may be ([ShardChannels]), and
// in a group the messages that wait until what they tell of is committed ([Fanout]). It
// knows clients as [Subscriber], other members as [Peers], and the journal only for what is
// committed. The words of keyspace events are here too.
//
// Publishing takes the lock of the broker for reading and gives the bytes to the
// subscribers; it never waits for a client. Only Fanout.Run waits, for commits.
package pubsub
