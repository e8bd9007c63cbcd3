package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"go.etcd.io/raft/v3/raftpb"
)

// Message is what members send each other.
type Message = raftpb.Message

// Member is a machine of a group in the configuration.
type Member struct {
	ID   uint64
	Host string
	Port int // of clients; that of the other members is busOffset higher
}

// busOffset is how much higher the port for other members is than that for clients, as in
// Redis Cluster.
const busOffset = 10000

// Address is where clients connect to the member.
func (m Member) Address() string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Port)) }

// bus is where other members connect to it.
func (m Member) bus() string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Port+busOffset)) }

// busOf returns where other members connect to the one with an address of clients.
func busOf(address string) (string, error) { return shift(address, busOffset) }

// clientsOf is the reverse of busOf, "" for what is no such address.
func clientsOf(bus string) string {
	address, err := shift(bus, -busOffset)
	if err != nil {
		return ""
	}
	return address
}

func shift(address string, by int) (string, error) {
	host, port, err := SplitAddress(address)
	if err != nil {
		return "", err
	}
	if port += by; port < 1 || port > 65535 {
		return "", fmt.Errorf("%q: the port is not between 1 and %d", address, 65535-busOffset)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// SplitAddress returns host and port of an address.
func SplitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "", 0, fmt.Errorf("%q is not of the form host:port", address)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q has no port", address)
	}
	return host, int(n), nil
}

// maxMembers is how many voters a group may have. Each of them gets every change.
const maxMembers = 7

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
	case n > maxMembers:
		return nil, fmt.Errorf("there are %d members, of %d at most", n, maxMembers)
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
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return Member{}, errors.New("the address is not of the form host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || n > 65535-busOffset {
		return Member{}, fmt.Errorf("the port is not between 1 and %d", 65535-busOffset)
	}
	return Member{ID: id, Host: host, Port: int(n)}, nil
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

// groupID says which group connections between its members are of, and clusterID which cluster those
// between groups.
func groupID(secret, name string) [16]byte { return [16]byte(derive(secret, of("group", name))[:16]) }

func clusterID(secret string) [16]byte { return [16]byte(derive(secret, "cluster")[:16]) }

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

// meshID is the number of a member of a group among the members of all groups.
func meshID(name string, id uint64) uint64 {
	sum := sha256.Sum256([]byte(of("member "+strconv.FormatUint(id, 10), name)))
	return binary.LittleEndian.Uint64(sum[:]) | 1 // which is not 0
}

// derive returns 32 bytes that follow from a secret, others for each purpose.
func derive(secret, purpose string) []byte {
	sum := sha256.Sum256([]byte("vigil " + purpose + " " + secret))
	return sum[:]
}
