package topology

import (
	"reflect"
	"strings"
	"testing"
)

func TestMembersOfTheConfiguration(t *testing.T) {
	members, err := ParseMembers(" 1=10.0.0.1:6379  2=db.example:7000 3=[::1]:55535 4=h:60000@30001 5=[::1]:7@17000")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ address, bus string }{{"10.0.0.1:6379", "10.0.0.1:16379"}, {"db.example:7000", "db.example:17000"}, {"[::1]:55535", "[::1]:65535"},
		{"h:60000@30001", "h:30001"}, {"[::1]:7@17000", "[::1]:17000"}}
	for i, m := range members {
		if bus, err := BusOf(m.Address()); err != nil || m.ID != uint64(i+1) || m.Address() != want[i].address || Dialled(bus) != want[i].bus {
			t.Errorf("member %d: %+v", i, m)
		}
	}
	for text, want := range map[string]string{
		"":                          "no members",
		"1=a:1 2=b:1":               "there are 2 members: with one less as many may fail",
		"1=a:1 1=b:1 3=c:1":         `"1=b:1": there are two members 1`,
		"1=a:1 2=a:1 3=c:1":         `"2=a:1": two members have one address`,
		"a:1":                       `"a:1": not of the form id=host:port`,
		"0=a:1":                     "the id is not a number from 1 on",
		"-1=a:1":                    "the id is not a number from 1 on",
		"1=a":                       `"a" is not of the form host:port`,
		"1=:1":                      `":1" is not of the form host:port`,
		"1=a:0":                     `"a:0" has no port`,
		"1=a:55536":                 "the port is not between 1 and 55535, and no port for other servers is named (host:port@bus)",
		"1=a:x":                     `"a:x" has no port`,
		"1=a:7@":                    "the port for other servers, behind @, is none",
		"1=a:7@0":                   "the port for other servers, behind @, is none",
		"1=a:7@7":                   "the port for other servers, behind @, is none",
		"1=a:7@65536":               "the port for other servers, behind @, is none",
		"1=a:7@8@9":                 "the port for other servers, behind @, is none",
		strings.Repeat("1=a:1 ", 1): "",
	} {
		_, err := ParseMembers(text)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	var nine []string
	for _, id := range "123456789" {
		nine = append(nine, string(id)+"=h"+string(id)+":1")
	}
	if _, err := ParseMembers(strings.Join(nine, " ")); err == nil {
		t.Error("nine members are taken")
	}
}

func TestSecretsOfAGroup(t *testing.T) {
	const one, two = "0123456789abcdef", "0123456789abcdeg"
	seen := map[string]string{}
	for _, secret := range []string{one, two} {
		hashes, err := Hashes(secret)
		if err != nil {
			t.Errorf("%q: %v", secret, err)
		}
		seen["hashes "+string(hashes[:])] = ""
		ids := [][16]byte{hashes, ClusterID(secret), GroupID(secret, ""), GroupID(secret, "a"), GroupID(secret, "b")}
		for _, id := range ids {
			seen[string(id[:])] = ""
		}
		for _, name := range []string{"", "a", "b"} {
			for _, id := range []string{GroupPublicID(secret, name), MemberPublicID(secret, name, 1), MemberPublicID(secret, name, 2)} {
				if seen[id] = ""; len(id) != 40 {
					t.Errorf("%q is no ID", id)
				}
			}
		}
	}
	if want := 2 * (1 + 5 + 9); len(seen) != want {
		t.Errorf("%d of %d things that follow from secrets and names differ", len(seen), want)
	}
	if _, err := Hashes("0123456789abcde"); err == nil {
		t.Error("a short secret is taken")
	}
}

func TestAddressesOfMembersAreChecked(t *testing.T) {
	for address, want := range map[string]string{"10.0.0.1:7001": "10.0.0.1:17001", "[::1]:1": "[::1]:10001", "name:55535": "name:65535",
		"name:60000@1": "name:60000@1", "[::1]:7@8": "[::1]:7@8", "name:7@7": "", "name:7@x": "", "name:7@0": "", "name@8": "",
		"name:55536": "", "name": "", ":7001": "", "name:0": "", "name:x": "", "": ""} {
		got, err := BusOf(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("busOf(%q): %q, %v, want %q", address, got, err, want)
		}
		if want != "" && ClientsOf(want) != address {
			t.Errorf("clientsOf(%q): %q", want, ClientsOf(want))
		}
	}
	for _, bad := range []string{"name:9999", "name:7@10007", "name:7@7", "name", ":17001", ""} {
		if got := ClientsOf(bad); got != "" {
			t.Errorf("clientsOf(%q): %q", bad, got)
		}
	}
	if got, err := ParseContacts(" a:1  b:2@10002 c:3@4 "); err != nil || !reflect.DeepEqual(got, []string{"a:1", "b:2", "c:3@4"}) {
		t.Errorf("%q, %v", got, err)
	}
}
