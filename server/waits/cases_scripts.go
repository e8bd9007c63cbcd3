package waits

var scriptCases = []Case{
	{Command: "EVAL", What: "keys", Call: counted(key, []string{"EVAL", "return #KEYS"})},
	{Command: "EVAL", What: "argument", Bytes: true, Call: sized(nil, "EVAL", "return #ARGV[1]", "0")},
	{Command: "EVAL_RO", What: "keys", Call: counted(key, []string{"EVAL_RO", "return #KEYS"})},
	{Command: "SCRIPT LOAD", What: "script", Bytes: true, Call: refused(sized(nil, "SCRIPT", "LOAD"))},
	{Command: "SCRIPT EXISTS", What: "digests", Call: many(1, one, []string{"SCRIPT", "EXISTS"})},
}
