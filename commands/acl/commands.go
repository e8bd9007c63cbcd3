package acl

import "github.com/vigildb/vigil/commands"

// Access is what the commands about users ask of the server.
type Access interface {
	Users() *Users
	AccessLog() *Log
	// Revoke disconnects the clients of users that are no more, and subscribers
	// whose user may no longer receive what they subscribe to.
	Revoke(c *commands.Ctx, deleted []*User)
	// KeepUsers is the Keep of a server whose users belong to a group: they change with
	// the other changes of the call.
	KeepUsers(*Changes) error
	// RandomHex returns n unpredictable digits.
	RandomHex(n int) string
}

// Files are the users' file.
type Files interface {
	// UsersFile is the directive aclfile.
	UsersFile() string
	// LoadUsers reads the file. If it returns an error nothing has changed.
	LoadUsers(c *commands.Ctx) error
	// SaveUsers replaces the file.
	SaveUsers() error
}

const (
	adminFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale
	plainFlags = commands.NoScript | commands.Loading | commands.Stale
)

func Group() commands.Group {
	return commands.Group{Name: "server", Commands: []commands.Command{
		{Name: "ACL", Arity: -2, Since: "6.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about users and what they may do."},
		{Name: "ACL CAT", Arity: -2, Flags: plainFlags, Syntax: "[category]", Since: "6.0.0", Cost: "O(1)",
			Summary: "Lists the command categories, or the commands in one category.", Run: cat},
		{Name: "ACL DELUSER", Arity: -3, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Syntax: "username [username ...]", Since: "6.0.0",
			Cost:    "O(1) for each user and connection",
			Summary: "Deletes users and closes their connections.", Secrets: afterTwo, Users: always, Run: deleteUser},
		{Name: "ACL DRYRUN", Arity: -4, Flags: adminFlags, Syntax: "username command [arg [arg ...]]", Since: "7.0.0",
			Cost:    "O(n) for n rules of the user",
			Summary: "Returns whether a user may run a command, without running it.", Run: dryRun},
		{Name: "ACL GENPASS", Arity: -2, Flags: plainFlags, Syntax: "[bits]", Since: "6.0.0", Cost: "O(1)",
			Summary: "Generates a random password.", Run: genPass},
		{Name: "ACL GETUSER", Arity: 3, Flags: adminFlags, Syntax: "username", Since: "6.0.0",
			Cost:    "O(n) for n rules of the user",
			Summary: "Returns the rules of a user.", Secrets: afterTwo, Run: getUser},
		{Name: "ACL LIST", Arity: 2, Flags: adminFlags, Since: "6.0.0", Cost: "O(n) for n users",
			Summary: "Lists the users and their rules as lines of a file.", Run: list},
		{Name: "ACL LOAD", Arity: 2, Flags: adminFlags, Since: "6.0.0", Cost: "O(n) for n users and connections",
			Summary: "Replaces all users by those of the file.", Users: always, Run: load},
		{Name: "ACL LOG", Arity: -2, Flags: adminFlags, Syntax: "[count | RESET]", Since: "6.0.0", Cost: "O(n) for n entries",
			Summary: "Lists calls that were refused, or clears the list.", Run: showLog},
		{Name: "ACL SAVE", Arity: 2, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Since: "6.0.0", Cost: "O(n) for n users",
			Summary: "Writes all users to the file.", Run: save},
		{Name: "ACL SETUSER", Arity: -3, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Syntax: "username [rule [rule ...]]", Since: "6.0.0",
			Cost:    "O(n) for n rules",
			Summary: "Creates a user, or changes one.", Secrets: afterTwo, Users: always, Run: setUser},
		{Name: "ACL USERS", Arity: 2, Flags: adminFlags, Since: "6.0.0", Cost: "O(n) for n users",
			Summary: "Lists the names of the users.", Run: users},
		{Name: "ACL WHOAMI", Arity: 2, Flags: plainFlags, Since: "6.0.0", Cost: "O(1)",
			Summary: "Returns the user name of the connection.", Run: whoAmI},
		commands.Help("ACL", "6.0.0", commands.Loading|commands.Stale),
	}}
}

// afterTwo are all arguments but the name and the subcommand: names of users and
// their passwords.
func afterTwo(argv [][]byte) []int {
	var secret []int
	for i := 2; i < len(argv); i++ {
		secret = append(secret, i)
	}
	return secret
}

// always says that all calls of a command change users.
func always([][]byte) bool { return true }

func setUser(c *commands.Ctx) error {
	name := c.Args.String()
	if hasSpaces(name) {
		return errNameSpaces
	}
	var rules []string
	for c.Args.More() {
		rules = append(rules, c.Args.String())
	}
	access := c.Host.(Access)
	if err := access.Users().Set(name, rules, access.KeepUsers); err != nil {
		return wire(err)
	}
	access.Revoke(c, nil)
	c.Reply.OK()
	return nil
}

// wire makes an error of rules one for the client.
func wire(err error) error {
	if w, ok := err.(commands.WireError); ok {
		return w
	}
	return commands.Errorf("ERR %v", err)
}

func deleteUser(c *commands.Ctx) error {
	var names []string
	for c.Args.More() {
		names = append(names, c.Args.String())
	}
	for _, name := range names {
		if name == defaultName {
			return errDefaultRemoved
		}
	}
	access := c.Host.(Access)
	deleted, err := access.Users().Delete(names, access.KeepUsers)
	if err != nil {
		return wire(err)
	}
	if len(deleted) > 0 {
		access.Revoke(c, deleted)
	}
	c.Reply.Int(int64(len(deleted)))
	return nil
}

func load(c *commands.Ctx) error {
	files := c.Host.(Files)
	if files.UsersFile() == "" {
		return errNoFile
	}
	if err := files.LoadUsers(c); err != nil {
		return wire(err)
	}
	c.Reply.OK()
	return nil
}

func save(c *commands.Ctx) error {
	files := c.Host.(Files)
	if files.UsersFile() == "" {
		return errNoFile
	}
	if err := files.SaveUsers(); err != nil {
		return errSaving
	}
	c.Reply.OK()
	return nil
}
