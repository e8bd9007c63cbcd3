package pubsub

import "github.com/vigildb/vigil/commands"

// Kind distinguishes plain channels, patterns and shard channels. Members of a group send each
// other these numbers.
type Kind int

const (
	Channel Kind = iota
	Pattern
	ShardChannel
)

// Broker is what the server does for these commands.
type Broker interface {
	Subscribe(c *commands.Ctx, kind Kind, names [][]byte)
	// Unsubscribe leaves the named channels, or all if there are none.
	Unsubscribe(c *commands.Ctx, kind Kind, names [][]byte)
	// Publish delivers a message and returns how many clients got it.
	Publish(c *commands.Ctx, kind Kind, channel, message []byte) int
	// Channels lists channels with subscribers that match a pattern (nil: all).
	Channels(kind Kind, pattern []byte) []string
	// Subscribers counts the subscribers of a channel, or with kind Pattern
	// and no name the patterns.
	Subscribers(kind Kind, name []byte) int
}

func Group() commands.Group {
	const listen = commands.PubSub | commands.NoScript | commands.Loading | commands.Stale | commands.Subscriber
	const publish = commands.PubSub | commands.Loading | commands.Stale | commands.Fast | commands.MayReplicate
	const look = commands.PubSub | commands.Loading | commands.Stale
	shard := []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.NotKey)}
	return commands.Group{Name: "pubsub", Commands: []commands.Command{
		{Name: "SUBSCRIBE", Arity: -2, Flags: listen, Channels: commands.AllChannels, Syntax: "channel [channel ...]",
			Since: "2.0.0", Cost: "O(n) for n channels",
			Summary: "Subscribes to channels.", Run: subscribe(Channel)},
		{Name: "UNSUBSCRIBE", Arity: -1, Flags: listen, Syntax: "[channel [channel ...]]",
			Since: "2.0.0", Cost: "O(n) for n subscribers of a channel",
			Summary: "Unsubscribes from channels, or from all of them.", Run: unsubscribe(Channel)},
		{Name: "PSUBSCRIBE", Arity: -2, Flags: listen, Channels: commands.AllPatterns, Syntax: "pattern [pattern ...]",
			Since: "2.0.0", Cost: "O(n) for n patterns",
			Summary: "Subscribes to channels that match patterns.", Run: subscribe(Pattern)},
		{Name: "PUNSUBSCRIBE", Arity: -1, Flags: listen, Syntax: "[pattern [pattern ...]]",
			Since: "2.0.0", Cost: "O(n) for n subscribers of a pattern",
			Summary: "Unsubscribes from patterns, or from all of them.", Run: unsubscribe(Pattern)},
		{Name: "SSUBSCRIBE", Arity: -2, Flags: listen, Channels: commands.AllChannels, Keys: shard, Syntax: "shardchannel [shardchannel ...]",
			Since: "7.0.0", Cost: "O(n) for n channels",
			Summary: "Subscribes to shard channels.", Run: subscribe(ShardChannel)},
		{Name: "SUNSUBSCRIBE", Arity: -1, Flags: listen, Keys: shard, Syntax: "[shardchannel [shardchannel ...]]",
			Since: "7.0.0", Cost: "O(n) for n subscribers of a channel",
			Summary: "Unsubscribes from shard channels, or from all of them.", Run: unsubscribe(ShardChannel)},
		{Name: "PUBLISH", Arity: 3, Flags: publish, Channels: commands.FirstChannel, Syntax: "channel message",
			Since: "2.0.0", Cost: "O(n+m) for n subscribers of the channel and m patterns in all",
			Summary: "Sends a message to the subscribers of a channel.", Run: publishTo(Channel)},
		{Name: "SPUBLISH", Arity: 3, Flags: publish, Channels: commands.FirstChannel, Keys: []commands.KeySpec{commands.Key(1, commands.NotKey)}, Syntax: "shardchannel message",
			Since: "7.0.0", Cost: "O(n) for n subscribers of the channel",
			Summary: "Sends a message to the subscribers of a shard channel.", Run: publishTo(ShardChannel)},
		{Name: "PUBSUB", Arity: -2, Since: "2.8.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands that inspect channels and patterns."},
		{Name: "PUBSUB CHANNELS", Arity: -2, Flags: look, Syntax: "[pattern]",
			Since: "2.8.0", Cost: "O(n) for n channels",
			Summary: "Lists the channels that have subscribers.", Run: channels(Channel)},
		{Name: "PUBSUB NUMSUB", Arity: -2, Flags: look, Syntax: "[channel [channel ...]]",
			Since: "2.8.0", Cost: "O(n) for n channels",
			Summary: "Returns the numbers of subscribers of channels, pattern subscriptions not included.", Run: subscribers(Channel)},
		{Name: "PUBSUB NUMPAT", Arity: 2, Flags: look, Since: "2.8.0", Cost: "O(1)",
			Summary: "Returns the number of patterns that have subscribers.", Run: patterns},
		{Name: "PUBSUB SHARDCHANNELS", Arity: -2, Flags: look, Syntax: "[pattern]",
			Since: "7.0.0", Cost: "O(n) for n shard channels",
			Summary: "Lists the shard channels that have subscribers.", Run: channels(ShardChannel)},
		{Name: "PUBSUB SHARDNUMSUB", Arity: -2, Flags: look, Syntax: "[shardchannel [shardchannel ...]]",
			Since: "7.0.0", Cost: "O(n) for n shard channels",
			Summary: "Returns the numbers of subscribers of shard channels.", Run: subscribers(ShardChannel)},
		commands.Help("PUBSUB", "6.2.0", commands.Loading|commands.Stale),
	}}
}

// subscribe refuses shard channels within MULTI, as Redis does.
func subscribe(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		if kind == ShardChannel && c.InMulti {
			return errShardInMulti
		}
		c.Host.(Broker).Subscribe(c, kind, c.Args.Rest())
		return nil
	}
}

func unsubscribe(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		c.Host.(Broker).Unsubscribe(c, kind, c.Args.Rest())
		return nil
	}
}

func publishTo(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		channel, message := c.Args.Bytes(), c.Args.Bytes()
		c.Reply.Int(int64(c.Host.(Broker).Publish(c, kind, channel, message)))
		return nil
	}
}

func channels(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		var pattern []byte
		if c.Args.More() {
			pattern = c.Args.Bytes()
		}
		if c.Args.More() {
			return commands.ErrSubcommandArity(c)
		}
		c.Reply.Strings(c.Host.(Broker).Channels(kind, pattern))
		return nil
	}
}

func subscribers(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		names := c.Args.Rest()
		c.Reply.Array(2 * len(names))
		for _, name := range names {
			c.Reply.Bulk(name)
			c.Reply.Int(int64(c.Host.(Broker).Subscribers(kind, name)))
		}
		return nil
	}
}

func patterns(c *commands.Ctx) error {
	c.Reply.Int(int64(c.Host.(Broker).Subscribers(Pattern, nil)))
	return nil
}
