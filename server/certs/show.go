package certs

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// Shown is what users are shown of a certificate. The zero value is that of none.
type Shown struct {
	Serial string // hexadecimal digits, upper case
	End    time.Time
}

// Show returns the certificate of a file in PEM form that ends first; the zero value if there is none.
func Show(file string) (s Shown) {
	if file == "" {
		return s
	}
	text, err := readFile(file)
	if err != nil {
		return s
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (s.Serial == "" || c.NotAfter.Before(s.End)) {
			s = Shown{strings.ToUpper(c.SerialNumber.Text(16)), c.NotAfter}
		}
	}
	if len(s.Serial)%2 == 1 {
		s.Serial = "0" + s.Serial
	}
	return s
}
