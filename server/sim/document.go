package sim

import (
	"slices"
	"strings"
)

// A JSON document is a list in the model: its members as text, `"name":value`. No value has a comma.

// members takes the text of a document apart.
func members(text string) []string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (r *run) jsonCommand(args []string) string {
	key := args[1]
	v := r.edit(key)
	if args[0] == "JSON.MERGE" {
		member := members(args[3])[0]
		name, _, _ := strings.Cut(member, ":")
		if i := memberAt(v.list, name); i >= 0 {
			v.list[i] = member
		} else {
			v.list = append(v.list, member)
		}
		r.set(key, &v)
		return ok
	}
	name := `"` + strings.TrimPrefix(args[2], "$.") + `"`
	i := memberAt(v.list, name)
	value := ""
	if i >= 0 {
		value = strings.TrimPrefix(v.list[i], name+":")
	}
	switch there := r.get(key) != nil; {
	case args[0] == "JSON.GET" && !there:
		return absent
	case args[0] == "JSON.GET":
		return bulk("[" + value + "]")
	case args[0] == "JSON.NUMINCRBY" && !there:
		return "-ERR could not perform this operation on a key that doesn't exist"
	case args[0] == "JSON.NUMINCRBY" && i < 0:
		return bulk("[]")
	case args[0] == "JSON.NUMINCRBY":
		value = number(atoi(value) + 1)
		v.list[i] = name + ":" + value
		r.set(key, &v)
		return bulk("[" + value + "]")
	case i < 0:
		return "0"
	}
	last := len(v.list) - 1 // which takes its place
	v.list[i] = v.list[last]
	v.list = v.list[:last] // the key goes with the last one
	r.set(key, &v)
	return "1"
}

// memberAt is where the member of a name is, which has quotes.
func memberAt(list []string, name string) int {
	return slices.IndexFunc(list, func(m string) bool { return strings.HasPrefix(m, name+":") })
}
