package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// DecryptPKCS8 opens a private key that is encrypted by PKCS #8. It is nil in a program that does not
// import server/certs/pkcs8, which sets it.
var DecryptPKCS8 func(der, pass []byte) (key any, err error)

// hasCertificate reports whether a text has a certificate in PEM form.
func hasCertificate(text []byte) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if block.Type == "CERTIFICATE" {
			return true
		}
		text = rest
	}
}

var (
	errNoKey    = errors.New("no key in PEM form")
	errNeedPass = errors.New("the key is encrypted: set tls-key-file-pass")
	errNoPKCS8  = errors.New("the key is encrypted by PKCS #8, which needs the import of server/certs/pkcs8 in this program")
	errPass     = errors.New("tls-key-file-pass does not open the key")
)

// plainKey returns the first key of a text in PEM form, decrypted if it is
// encrypted: by PKCS #8, as OpenSSL has done it since version 1.0, or by the lines
// of RFC 1421, as it did before.
func plainKey(text, pass []byte) ([]byte, error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, errNoKey
		}
		//lint:ignore SA1019 keys of this form exist, however weak it is
		old := x509.IsEncryptedPEMBlock(block)
		switch {
		case !bytes.HasSuffix([]byte(block.Type), []byte("PRIVATE KEY")):
			continue
		case !old && block.Type != "ENCRYPTED PRIVATE KEY":
			return pem.EncodeToMemory(block), nil
		case len(pass) == 0:
			return nil, errNeedPass
		case old:
			//lint:ignore SA1019 keys of this form exist
			der, err := x509.DecryptPEMBlock(block, pass)
			if err != nil {
				return nil, errPass
			}
			return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
		}
		if DecryptPKCS8 == nil {
			return nil, errNoPKCS8
		}
		key, err := DecryptPKCS8(block.Bytes, pass)
		if err != nil {
			return nil, errPass
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
	}
}
