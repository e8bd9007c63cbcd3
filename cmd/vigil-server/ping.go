package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server/certs"
	"github.com/vigildb/vigil/server/conf"
)

// pingTime is how long a server may take for its answer. Health checks are asked often, and give up by themselves.
const pingTime = 3 * time.Second

// understood are errors of a server that works, but refuses this client.
var understood = []string{"NOAUTH", "WRONGPASS", "NOPERM"}

// ping is --ping: it asks the server of a configuration, on this machine, whether it answers. It does if it says PONG, or that
// the password is not right. While it loads its data, or if its disk or its group does not let it work, it says what it says.
func ping(set *conf.Settings, out io.Writer) error {
	said, err := askPing(set)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	fmt.Fprintln(out, said)
	word, _, _ := strings.Cut(strings.TrimPrefix(said, "-"), " ")
	for _, w := range append(understood, "+PONG") {
		if word == w {
			return nil
		}
	}
	return &exitStatus{code: 1}
}

// askPing returns the line that the server replies, AUTH and PING being sent at once.
func askPing(set *conf.Settings) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	c, err := reach(ctx, set)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(pingTime))
	var request []byte
	calls := [][]string{{"PING"}}
	if set.RequirePass != "" {
		calls = [][]string{{"AUTH", set.RequirePass}, {"PING"}}
	}
	for _, words := range calls {
		request = fmt.Appendf(request, "*%d\r\n", len(words))
		for _, w := range words {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	if _, err := c.Write(request); err != nil {
		return "", err
	}
	r := bufio.NewReader(io.LimitReader(c, 4096))
	var line string
	for range calls {
		if line, err = r.ReadString('\n'); err != nil {
			return "", fmt.Errorf("no whole reply: %w", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] != '+' && line[0] != '-' {
			return "", fmt.Errorf("no server of this protocol is there: it says %.40q", line)
		}
	}
	return line, nil
}

// reach connects to the server by the first of its sockets that takes the connection.
func reach(ctx context.Context, set *conf.Settings) (net.Conn, error) {
	var errs []error
	var d net.Dialer
	try := func(network, address string) net.Conn {
		c, err := d.DialContext(ctx, network, address)
		errs = append(errs, err)
		return c // nil after an error
	}
	if set.UnixSocket != "" {
		if c := try("unix", set.UnixSocket); c != nil {
			return c, nil
		}
	}
	port := cmp.Or(set.Port, set.TLSPort)
	if port == conf.PortAuto {
		return nil, errors.Join(append(errs, errors.New("the port of a server with `port auto` is in its log; give it with --port"))...)
	}
	for _, host := range set.Bind {
		if port == 0 {
			break
		}
		c := try("tcp", net.JoinHostPort(ownHost(host), strconv.Itoa(port)))
		if c == nil || set.Port != 0 {
			if c != nil {
				return c, nil
			}
			continue
		}
		config, err := pingTLS(set)
		if err != nil {
			c.Close()
			return nil, err
		}
		return tls.Client(c, config), nil
	}
	return nil, cmp.Or(errors.Join(errs...), errors.New("by the configuration the server listens nowhere"))
}

// ownHost is where this machine reaches an address of bind.
func ownHost(host string) string {
	switch host = strings.TrimPrefix(host, "-"); host {
	case "*", "0.0.0.0":
		return "127.0.0.1"
	case "::*", "::":
		return "::1"
	}
	return host
}

// pingTLS trusts certificates of the authorities that are configured and, without any, the server's own.
func pingTLS(set *conf.Settings) (*tls.Config, error) {
	o := certs.Options{CertFile: set.TLSClientCertFile, KeyFile: set.TLSClientKeyFile, KeyPass: set.TLSClientKeyFilePass,
		CAFile: set.TLSCACertFile, CADir: set.TLSCACertDir, Protocols: set.TLSProtocols, Ciphers: set.TLSCiphers, CipherSuites: set.TLSCipherSuites}
	if o.CertFile == "" {
		o.CertFile, o.KeyFile, o.KeyPass = set.TLSCertFile, set.TLSKeyFile, set.TLSKeyFilePass
	}
	if o.CAFile != "" || o.CADir != "" {
		return o.Client()
	}
	o.CertFile, o.KeyFile, o.KeyPass = set.TLSCertFile, set.TLSKeyFile, set.TLSKeyFilePass
	own, err := o.Config()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: own.Certificates, InsecureSkipVerify: true, // what VerifyConnection does is stricter
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, own.Certificates[0].Certificate[0]) {
				return errors.New("the server has another certificate than tls-cert-file")
			}
			return nil
		}}, nil
}
