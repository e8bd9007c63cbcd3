package sentinel

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNoMaster    = commands.WireError("ERR No such master with that name")
	errNoSuccessor = commands.WireError("NOGOODSLAVE No suitable replica to promote")
)

func errNoQuorum(usable int) error {
	return commands.Errorf("NOQUORUM %d usable Sentinels. Not enough available Sentinels to reach the majority and authorize a failover", usable)
}
