// Package pkcs8 lets a program read private keys that are encrypted by PKCS #8, as OpenSSL writes them: the
// directive tls-key-file-pass. vigil-server imports it. Other programs do so if they want such keys:
//
//	import _ "github.com/vigildb/vigil/server/certs/pkcs8"
//
// It is a package of its own because it brings modules that a program without such keys need not link.
package pkcs8

import (
	"github.com/youmark/pkcs8"

	"github.com/vigildb/vigil/server/certs"
)

func init() { certs.DecryptPKCS8 = decrypt }

func decrypt(der, pass []byte) (key any, err error) { return pkcs8.ParsePKCS8PrivateKey(der, pass) }
