package topology

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Member is a machine of a group in the configuration.
type Member struct {
	ID        uint64
	Host      string
	Port, Bus int // of clients and of other members
}

// An address of a server is "host:port", where clients connect. Other servers connect to a port, that of the bus, which is busOffset
// higher, as in Redis Cluster, or the one that the address names: "host:port@bus".

// Ports of servers.
const (
	BusOffset = 10000
	MaxPort   = 65535
)

// JoinAddress returns the address of a server with ports for clients and for other servers.
func JoinAddress(host string, port, bus int) string {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	if bus != port+BusOffset {
		address += "@" + strconv.Itoa(bus)
	}
	return address
}

// SplitAddress is the reverse of JoinAddress.
func SplitAddress(address string) (host string, port, bus int, err error) {
	clients, own, named := strings.Cut(address, "@")
	host, text, err := net.SplitHostPort(clients)
	if err != nil || host == "" {
		return "", 0, 0, fmt.Errorf("%q is not of the form host:port", address)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, 0, fmt.Errorf("%q has no port", address)
	}
	if port, bus = int(n), int(n)+BusOffset; named {
		if n, err = strconv.ParseUint(own, 10, 16); err != nil || n == 0 || int(n) == port {
			return "", 0, 0, fmt.Errorf("%q: the port for other servers, behind @, is none", address)
		}
		bus = int(n)
	}
	if bus > MaxPort {
		return "", 0, 0, fmt.Errorf("%q: the port is not between 1 and %d, and no port for other servers is named (host:port@bus)", address, MaxPort-BusOffset)
	}
	return host, port, bus, nil
}

// Address is where clients connect to the member.
func (m Member) Address() string { return JoinAddress(m.Host, m.Port, m.Bus) }

// BusOf returns where the mesh looks for the server with an address: the host and the port for others, or the address as it is if this
// port does not follow from the other one.
func BusOf(address string) (string, error) {
	host, port, bus, err := SplitAddress(address)
	if err != nil {
		return "", err
	}
	if bus != port+BusOffset {
		return JoinAddress(host, port, bus), nil
	}
	return net.JoinHostPort(host, strconv.Itoa(bus)), nil
}

// ClientsOf is the reverse of BusOf, "" for what it does not return.
func ClientsOf(bus string) string {
	if strings.Contains(bus, "@") {
		if again, err := BusOf(bus); err != nil || again != bus {
			return ""
		}
		return bus
	}
	host, text, err := net.SplitHostPort(bus)
	n, bad := strconv.ParseUint(text, 10, 16)
	if err != nil || bad != nil || host == "" || n <= BusOffset {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(n)-BusOffset))
}

// Dialled returns the host and port at which a server listens for others, of what BusOf returned.
func Dialled(bus string) string {
	if !strings.Contains(bus, "@") {
		return bus
	}
	host, _, port, err := SplitAddress(bus)
	if err != nil {
		return bus
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// MaxMembers is how many voters a group may have. Each of them gets every change.
const MaxMembers = 7

// ParseMembers reads a list such as "1=10.0.0.1:6379 2=10.0.0.2:6379 3=[::1]:6379".
func ParseMembers(text string) ([]Member, error) {
	var members []Member
	ids, addresses := map[uint64]bool{}, map[string]bool{}
	for _, word := range strings.Fields(text) {
		m, err := parseMember(word)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", word, err)
		}
		switch {
		case ids[m.ID]:
			return nil, fmt.Errorf("%q: there are two members %d", word, m.ID)
		case addresses[m.Address()]:
			return nil, fmt.Errorf("%q: two members have one address", word)
		}
		ids[m.ID], addresses[m.Address()] = true, true
		members = append(members, m)
	}
	switch n := len(members); {
	case n == 0:
		return nil, errors.New("there are no members")
	case n > MaxMembers:
		return nil, fmt.Errorf("there are %d members, of %d at most", n, MaxMembers)
	case n%2 == 0:
		return nil, fmt.Errorf("there are %d members: with one less as many may fail", n)
	}
	return members, nil
}

func parseMember(word string) (Member, error) {
	number, address, ok := strings.Cut(word, "=")
	if !ok {
		return Member{}, errors.New("not of the form id=host:port")
	}
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil || id == 0 {
		return Member{}, errors.New("the id is not a number from 1 on")
	}
	host, port, bus, err := SplitAddress(address)
	if err != nil {
		return Member{}, err
	}
	return Member{ID: id, Host: host, Port: port, Bus: bus}, nil
}

// minSecret is the shortest secret of a group, in bytes.
const minSecret = 16

// Hashes is the secret of the hashes of all stores of a group, or of a cluster of groups: it follows from
// their secret, and does not tell it.
func Hashes(secret string) (hashes [16]byte, err error) {
	if len(secret) < minSecret {
		return hashes, fmt.Errorf("shorter than %d bytes", minSecret)
	}
	return [16]byte(derive(secret, "hashes")[:16]), nil
}

// GroupID says which group connections between its members are of.
func GroupID(secret, name string) [16]byte { return [16]byte(derive(secret, of("group", name))[:16]) }

// ClusterID says which cluster connections between groups are of.
func ClusterID(secret string) [16]byte { return [16]byte(derive(secret, "cluster")[:16]) }

// of adds the name of a group to what an ID is of. A group alone needs none.
func of(what, name string) string {
	if name == "" {
		return what
	}
	return what + " of " + name
}

// GroupPublicID is a name of a group for clients, of 40 hexadecimal digits as Redis has them, that is the
// same for all members. It tells neither the secret nor what follows from it.
func GroupPublicID(secret, name string) string { return publicID(secret, of("group", name)) }

// MemberPublicID is such a name of a member of a group.
func MemberPublicID(secret, name string, id uint64) string {
	return publicID(secret, of("member "+strconv.FormatUint(id, 10), name))
}

func publicID(secret, of string) string { return hex.EncodeToString(derive(secret, "public "+of)[:20]) }

// MeshID is the number of a member of a group among the members of all groups.
func MeshID(name string, id uint64) uint64 {
	sum := sha256.Sum256([]byte(of("member "+strconv.FormatUint(id, 10), name)))
	return binary.LittleEndian.Uint64(sum[:]) | 1 // which is not 0
}

// derive returns 32 bytes that follow from a secret, others for each purpose.
func derive(secret, purpose string) []byte {
	sum := sha256.Sum256([]byte("vigil " + purpose + " " + secret))
	return sum[:]
}

// ParseContacts reads a list of addresses of members, with blanks between them.
func ParseContacts(text string) (contacts []string, err error) {
	for _, word := range strings.Fields(text) {
		host, port, bus, err := SplitAddress(word)
		if err != nil {
			return nil, err
		}
		contacts = append(contacts, JoinAddress(host, port, bus))
	}
	return contacts, nil
}
