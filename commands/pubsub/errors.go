package pubsub

import "github.com/vigildb/vigil/commands"

// errShardInMulti is the reply to SSUBSCRIBE within a transaction: its messages are no reply of EXEC.
const errShardInMulti = commands.WireError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
