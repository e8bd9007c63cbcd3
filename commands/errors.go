package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// WireError is an error whose text is sent to the client unchanged. Its first
// word is the code that clients look at.
type WireError string

func (e WireError) Error() string { return string(e) }

// Reason is why a directive is refused. CONFIG SET appends it to a text of its
// own; at the start it follows the line of the directive.
type Reason string

func (r Reason) Error() string { return string(r) }

// Reasons with Redis's wording.
const (
	ErrNoSuchRename = Reason("No such command in rename-command")
	ErrRenameTarget = Reason("Target command name already exists")
	ErrCannotListen = Reason("Unable to listen on this port. Check server logs.")
	ErrCannotBind   = Reason("Failed to bind to specified addresses.")
)

// ErrTooManyClients is the reason why maxclients cannot be what it was set to: the
// system lets the process have files for most clients at most.
func ErrTooManyClients(most int64) error {
	return Reason(fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", most))
}

// Errors that several families or the server return, with Redis's wording.
const (
	ErrSyntax             = WireError("ERR syntax error")
	ErrNotInteger         = WireError("ERR value is not an integer or out of range")
	ErrNotFloat           = WireError("ERR value is not a valid float")
	ErrWrongType          = WireError("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrNoKey              = WireError("ERR no such key")
	ErrValueRange         = WireError("ERR value is out of range")
	ErrNumkeys            = WireError("ERR numkeys should be greater than 0")
	ErrPopCount           = WireError("ERR count should be greater than 0")
	ErrLimitNegative      = WireError("ERR LIMIT can't be negative")
	ErrMustBePositive     = WireError("ERR value is out of range, must be positive")
	ErrOverflow           = WireError("ERR increment or decrement would overflow")
	ErrNaNOrInf           = WireError("ERR increment would produce NaN or Infinity")
	ErrKeyTooLong         = WireError("ERR key is longer than 1 MiB")
	ErrDBIndex            = WireError("ERR DB index is out of range")
	ErrInvalidDBIndex     = WireError("ERR invalid DB index")
	ErrTimeoutNotFloat    = WireError("ERR timeout is not a float or out of range")
	ErrTimeoutNegative    = WireError("ERR timeout is negative")
	ErrTimeoutRange       = WireError("ERR timeout is out of range")
	ErrCursor             = WireError("ERR invalid cursor")
	errNoValues           = WireError("ERR NOVALUES option can only be used in HSCAN")
	errNoScores           = WireError("ERR NOSCORES option can only be used in ZSCAN")
	ErrNoAuth             = WireError("NOAUTH Authentication required.")
	ErrWrongPass          = WireError("WRONGPASS invalid username-password pair or user is disabled.")
	ErrOOM                = WireError("OOM command not allowed when used memory > 'maxmemory'.")
	ErrLoading            = WireError("LOADING Redis is loading the dataset in memory")
	ErrMisconf            = WireError("MISCONF Errors writing to the AOF file: the store cannot be written")
	ErrNoReplicas         = WireError("NOREPLICAS Not enough good replicas to write.")
	ErrSyncPending        = WireError("ERR SYNC and PSYNC are invalid with pending output")
	ErrSyncFiltered       = WireError("ERR Filtered replica requires EOF capability")
	ErrTakeOverMaster     = WireError("ERR PSYNC FAILOVER can't be sent to a master.")
	ErrTakeOverStream     = WireError("ERR PSYNC FAILOVER replid must match my replid.")
	ErrFollowerNotASource = WireError("ERR only the leader of a group has replicas, and this member follows: VIGIL.CLUSTER STATUS shows the leader")
	ErrFollowerNoChanges  = WireError("ERR only the leader of a group has a stream of changes, and this member follows: VIGIL.CLUSTER STATUS shows the leader")
	ErrChangesGone        = WireError("GONE the changes behind this position are not there any more: take a new one with VIGIL.CHANGES NOW, and scan the keys")
	ErrChangesPosition    = WireError("ERR no change begins at this position: it is one that VIGIL.CHANGES returned")
	ErrReadOnlyReplica    = WireError("READONLY You can't write against a read only replica.")
	ErrClusterDown        = WireError("CLUSTERDOWN The cluster is down")
	ErrSlotNotServed      = WireError("CLUSTERDOWN Hash slot not served")
	ErrSlotsMove          = WireError("TRYAGAIN Slots are being moved to this server")
	ErrLeftGroup          = WireError("CLUSTERDOWN This server has left its group")
	ErrClusterReadsOnly   = WireError("CLUSTERDOWN The cluster is down and only accepts read commands")
	ErrCrossSlot          = WireError("CROSSSLOT Keys in request don't hash to the same slot")
	ErrUnsynced           = WireError("MISCONF This command reads keys whose latest changes are not on disk yet, and the disk cannot be written")
	ErrExecAbort          = WireError("EXECABORT Transaction discarded because of previous errors.")
	ErrNestedMulti        = WireError("ERR MULTI calls can not be nested")
	ErrExecNoMulti        = WireError("ERR EXEC without MULTI")
	ErrDiscardNoMulti     = WireError("ERR DISCARD without MULTI")
	ErrWatchInMulti       = WireError("ERR Command 'watch' not allowed inside a transaction")
	ErrNotInMulti         = WireError("ERR Command not allowed inside a transaction")
	ErrUnblocked          = WireError("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	ErrMasterDown         = WireError("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")
	ErrBusyKey            = WireError("BUSYKEY Target key name already exists.")
	ErrNoConfigFile       = WireError("ERR The server is running without a config file")
	ErrSaveInProgress     = WireError("ERR Background save already in progress")
	ErrRewriteInProgress  = WireError("ERR Background append only file rewriting already in progress")
	ErrSnapshotName       = WireError("ERR invalid snapshot name: letters, digits, '-', '_' and '.', beginning with a letter or digit and not with 'auto-'")
	ErrNoSnapshot         = WireError("ERR no such snapshot")
	ErrSnapshotExists     = WireError("ERR a snapshot with this name exists")
	ErrSnapshotMemory     = WireError("ERR snapshots are not available: data is kept in memory only")
	ErrNoBackups          = WireError("ERR backups are not available: the directive backup-target says where they go, and it is empty")
	ErrBackupInProgress   = WireError("ERR a backup is already under way")
	ErrQueueTooLong       = WireError("ERR the transaction is too long")
	ErrInternal           = WireError("ERR internal error")
	ErrMaxClients         = WireError("ERR max number of clients reached")
	ErrProtected          = WireError("DENIED the server is in protected mode: it has no password and accepts only clients on the same machine. Set requirepass, or set protected-mode to no.")
	ErrNumkeysNegative    = WireError("ERR Number of keys can't be negative")
	ErrNumkeysTooMany     = WireError("ERR Number of keys can't be greater than number of args")
	ErrCountNegative      = WireError("ERR value is out of range, must be positive")
	ErrNoKeyArgs          = WireError("ERR The command has no key arguments")
	ErrInvalidCommand     = WireError("ERR Invalid command specified")
	ErrInvalidArgNumber   = WireError("ERR Invalid number of arguments specified for command")
	ErrInvalidArguments   = WireError("ERR Invalid arguments specified for command")
	ErrShutdownFailed     = WireError("ERR Errors trying to SHUTDOWN. Check logs.")
	ErrDebugNotAllowed    = WireError("ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.")
)

// Texts of the keyspace, lists and hashes.
const (
	ErrTimeoutNotInt     = WireError("ERR timeout is not an integer or out of range")
	ErrInt32Range        = WireError("ERR value is out of range, value must between -2147483648 and 2147483647")
	ErrValueNotSymmetric = WireError("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
)

// What SCHED says.
const ()

// Errors of SCHED.SIMULATE.
const ()

// Errors of computations without locks.
const (
	ErrComputeFull = WireError("ERR too many computations are waiting, try again later")
)

// Errors of placement maps.
const ()

// What RedisBloom says, with and without ERR.
const ()

// Errorf makes an error whose text is composed. CR and LF in it become spaces.
func Errorf(format string, args ...any) WireError {
	return WireError(clean(fmt.Sprintf(format, args...)))
}

// clean keeps a text on its line: the protocol ends it at CR or LF.
func clean(s string) string {
	if strings.IndexByte(s, '\r') < 0 && strings.IndexByte(s, '\n') < 0 {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// ErrArity is the error of a call with too few or too many arguments.
func ErrArity(c *Command) WireError {
	return Errorf("ERR wrong number of arguments for '%s' command", c.FullName())
}

// ErrUnknownCommand quotes the name and the first arguments, up to 128 bytes
// of each kind, as Redis does.
func ErrUnknownCommand(argv [][]byte) WireError {
	var b strings.Builder
	for _, a := range argv[1:] {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%.*s' ", 128-b.Len(), a)
	}
	return Errorf("ERR unknown command '%.128s', with args beginning with: %s", argv[0], b.String())
}

// ErrUnknownOption is the error of a word that looks like an option in the place of
// a name (see Names).
func ErrUnknownOption(word []byte) WireError {
	return Errorf("ERR unknown option '%.64s', or a name that looks like one: such a name must come first", word)
}

// ErrUnknownSubcommand names the container's HELP.
func ErrUnknownSubcommand(container *Command, word []byte) WireError {
	return Errorf("ERR unknown subcommand '%.128s'. Try %s HELP.", word, container.Name)
}

// ErrNotAllowedSubscribed is the error of a command that a RESP2 client may
// not send while it subscribes.
func ErrNotAllowedSubscribed(c *Command) WireError {
	return Errorf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", c.FullName())
}

// ErrInvalidExpire names the command whose expiry is zero, negative or beyond
// 64 bits.
func ErrInvalidExpire(c *Command) WireError {
	return Errorf("ERR invalid expire time in '%s' command", c.FullName())
}

// ErrSubcommandArity is the error of a container that checks the number of
// arguments of its subcommands itself.
func ErrSubcommandArity(c *Ctx) WireError {
	return Errorf("ERR unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP.", c.Args.All()[1], c.Command.parent.Name)
}

// ErrExecDiscarded is the error of an EXEC that could not run, for the reason
// of another command.
func ErrExecDiscarded(reason WireError) WireError {
	return Errorf("EXECABORT Transaction discarded because of: %s", strings.TrimPrefix(string(reason), "ERR "))
}

// ErrRewritingConfig is the error of a CONFIG REWRITE that failed.
func ErrRewritingConfig(why error) WireError { return Errorf("ERR Rewriting config file: %v", why) }

// ErrProtocol is the error for input that is not a command, after which the
// client is disconnected.
func ErrProtocol(bad error) WireError { return Errorf("ERR %s", bad) }

// Counted is an error of a call inside another one, which becomes the error of that too.
// It was counted for the inner call.
type Counted WireError

func (e Counted) Error() string { return string(e) }

// Text is what the client gets for err: wire errors as they are, domain errors
// by their meaning, all else as an internal error (known is false, and the
// caller logs it).
func Text(err error) (text WireError, known bool) {
	var w WireError
	var counted Counted
	var level persistence.NeedsLevelError
	switch {
	case errors.As(err, &w):
		return w, true
	case errors.As(err, &counted):
		return WireError(counted), true
	case errors.Is(err, structures.ErrWrongType):
		return ErrWrongType, true
	case errors.As(err, &level):
		return Errorf("ERR The group has level %d, and this needs level %d: VIGIL.CLUSTER UPGRADE at the leader raises it, once all members have a version that knows it", level.Has, level.Needs), true
	}
	return ErrInternal, false
}

// ErrMoved is the error of a call at another member than the one that serves a slot.
func ErrMoved(slot int, to *Member, e Endpoint) WireError {
	return Errorf("MOVED %d %s:%d", slot, to.Endpoint(e), to.Port)
}

// ErrRedirect is the error of a call at a follower, for a client that goes to the leader by itself.
func ErrRedirect(to *Member, e Endpoint) WireError {
	return Errorf("REDIRECT %s:%d", to.Endpoint(e), to.Port)
}

// ErrLeaderOnly is the error of a call that only the leader of a group takes, although it
// changes no keys.
func ErrLeaderOnly(cmd *Command) WireError {
	return Errorf("READONLY '%s' needs the member that leads the group", cmd.FullName())
}
