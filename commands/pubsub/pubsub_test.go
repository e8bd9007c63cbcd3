package pubsub

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
)

// loudBroker has one channel, on which three clients listen.
type loudBroker struct {
	commands.Host
	Broker
	sent []string
}

func (b *loudBroker) Publish(_ *commands.Ctx, kind Kind, channel, message []byte) int {
	b.sent = append(b.sent, fmt.Sprintf("%d %s %s", kind, channel, message))
	return 3
}

func (b *loudBroker) Channels(Kind, []byte) []string { return []string{"news"} }

func (b *loudBroker) Subscribers(_ Kind, name []byte) int { return len(name) }

func TestHandlersPassArgumentsToTheBroker(t *testing.T) {
	r := commandtest.New(t, Group())
	b := &loudBroker{Host: r.Ctx.Host}
	r.Ctx.Host = b
	r.Want(":3\r\n", "PUBLISH", "news", "a b")
	r.Want(":3\r\n", "SPUBLISH", "shard", "")
	r.Want("*1\r\n$4\r\nnews\r\n", "PUBSUB", "CHANNELS")
	r.Want("*4\r\n$1\r\na\r\n:1\r\n$2\r\nbc\r\n:2\r\n", "PUBSUB", "NUMSUB", "a", "bc")
	if got, want := fmt.Sprint(b.sent), "[0 news a b 2 shard ]"; got != want {
		t.Errorf("published: got %s, want %s", got, want)
	}
}
