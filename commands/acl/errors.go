package acl

import (
	"fmt"

	"github.com/vigildb/vigil/commands"
)

// mistake is what is wrong with a rule, word for word as clients see it.
type mistake string

func (m mistake) Error() string { return string(m) }

const (
	errRuleSyntax       = mistake("Syntax error")
	errUnknownName      = mistake("Unknown command or category name in ACL")
	errKeysAfterAll     = mistake("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errChannelsAfterAll = mistake("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errNoSuchPassword   = mistake("The password you are trying to remove from the user does not exist")
	errBadHash          = mistake("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errFirstArgOfSub    = mistake("Allowing first-arg of a subcommand is not supported")
	errTooMany          = mistake("The rule is too long, or there are too many rules of its kind")
	errDatabaseRange    = mistake("The provided database ID is out of range")
	errDuplicateUser    = mistake("Duplicate user found. A user can only be defined once in config files")
	errUserName         = mistake("Spaces not allowed in ACL usernames")
)

// ruleError is a rule that cannot be applied.
type ruleError struct {
	rule string
	why  mistake
}

func (e *ruleError) Error() string {
	return fmt.Sprintf("Error in ACL SETUSER modifier '%s': %s", e.rule, e.why)
}

// unmatchedError is the beginning of a selector that does not end.
type unmatchedError string

func (e unmatchedError) Error() string {
	return fmt.Sprintf("Unmatched parenthesis in acl selector starting at '%s'.", string(e))
}

// Errors that only this family returns, word for word as clients see them.
const (
	errNameSpaces     = commands.WireError("ERR Usernames can't contain spaces or null characters")
	errDefaultRemoved = commands.WireError("ERR The 'default' user cannot be removed")
	errNoFile         = commands.WireError("ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.")
	errSaving         = commands.WireError("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
	errGenPassBits    = commands.WireError("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
	errTooManyUsers   = commands.WireError("ERR there are too many users")
)

// ErrUsersTooLarge is the error of a change after which the users of a group would take
// too much.
const ErrUsersTooLarge = commands.WireError("ERR the users of the group take more than 64 MiB")

// errUnknownCategory quotes the start of a category that does not exist.
func errUnknownCategory(word []byte) commands.WireError {
	return commands.Errorf("ERR Unknown category '%.128s'", word)
}

func errUserNotFound(name []byte) commands.WireError {
	return commands.Errorf("ERR User '%s' not found", name)
}

func errCommandNotFound(name []byte) commands.WireError {
	return commands.Errorf("ERR Command '%s' not found", name)
}

// ErrNoPermission is the error of a call that a user may not make. It does not repeat
// keys and channels.
func ErrNoPermission(u *User, cmd *commands.Command, d *Denial) commands.WireError {
	return commands.Errorf("NOPERM %s", d.brief(u, cmd))
}

// ErrNoPermissionInScript is the error of a call that a script makes.
func ErrNoPermissionInScript(u *User, cmd *commands.Command, d *Denial) commands.WireError {
	return commands.Errorf("ERR ACL failure in script: %s", d.brief(u, cmd))
}

// ErrNoPermissionAnymore is the error of a call that was allowed when it was queued.
func ErrNoPermissionAnymore(d *Denial) commands.WireError {
	why := "no permission to execute the command or subcommand"
	switch d.Reason {
	case DeniedDatabase:
		why = "no permission"
	case DeniedKey:
		why = "no permission to touch the specified keys"
	case DeniedChannel:
		why = "no permission to access one of the channels used as arguments to the command"
	}
	return commands.Errorf("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: %s", why)
}

func (d *Denial) brief(u *User, cmd *commands.Command) string {
	switch d.Reason {
	case DeniedDatabase:
		return "No permissions to access database"
	case DeniedKey:
		return "No permissions to access a key"
	case DeniedChannel:
		return "No permissions to access a channel"
	}
	return fmt.Sprintf("User %s has no permissions to run the '%s' command", u.name, cmd.FullName())
}

// full names the key or the channel, in the words of Redis 7.0, where the caller knows the user; or the
// database, in the words of Valkey 9.
func (d *Denial) full(u *User, cmd *commands.Command, argv [][]byte) string {
	switch d.Reason {
	case DeniedDatabase:
		return fmt.Sprintf("User %s has no permissions to access database %s", u.name, argv[d.Index])
	case DeniedKey:
		return fmt.Sprintf("This user has no permissions to access the '%s' key", argv[d.Index])
	case DeniedChannel:
		return fmt.Sprintf("This user has no permissions to access the '%s' channel", argv[d.Index])
	}
	return fmt.Sprintf("This user has no permissions to run the '%s' command", cmd.FullName())
}
