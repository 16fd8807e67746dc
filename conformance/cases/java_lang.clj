;;; Math, numbers, characters, string and collection methods, decimals. Answers of a JVM.


;; Math.

(Math/abs -5)  ;=> 5
(Math/abs -5.5)  ;=> 5.5
(Math/floor 2.7)  ;=> 2.0
(Math/ceil -2.7)  ;=> -2.0
(Math/round 2.5)  ;=> 3
(Math/round -2.5)  ;=> -2
(Math/round 0.49999999999999994)  ;=> 0
(Math/round 1e300)  ;=> 9223372036854775807
(Math/rint 2.5)  ;=> 2.0
(Math/pow 2 10)  ;=> 1024.0
(Math/pow 2 -1)  ;=> 0.5
(Math/sqrt -1)  ;=> ##NaN
(Math/cbrt 27)  ;=> 3.0
(Math/exp 1)  ;=> 2.718281828459045
(Math/log 10)  ;=> 2.302585092994046
(Math/log10 1000)  ;=> 3.0
(Math/sin 1)  ;=> 0.8414709848078965
(Math/cos 1)  ;=> 0.5403023058681398
(Math/tan 1)  ;=> 1.5574077246549023
(Math/atan2 1 2)  ;=> 0.4636476090008061
(Math/hypot 3 4)  ;=> 5.0
(Math/signum -3.0)  ;=> -1.0
(Math/toDegrees 1)  ;=> 57.29577951308232
(Math/toRadians 90)  ;=> 1.5707963267948966
(Math/max 1 2)  ;=> 2
(Math/max 1.0 2.0)  ;=> 2.0
(Math/floorDiv -7 2)  ;=> -4
(Math/floorMod -7 2)  ;=> 1
(Math/floorMod 7 -3)  ;=> -2
(Math/addExact 1 2)  ;=> 3
(Math/addExact Long/MAX_VALUE 1)  ;=!
(Math/multiplyExact 4611686018427387904 2)  ;=!
(Math/toIntExact 3000000000)  ;=!
(Math/floorDiv 1 0)  ;=!
Math/PI  ;=> 3.141592653589793
Math/E  ;=> 2.718281828459045

;; Numbers.

(Integer/parseInt "42")  ;=> 42
(Integer/parseInt "-42")  ;=> -42
(Integer/parseInt "+42")  ;=> 42
(Integer/parseInt "ff" 16)  ;=> 255
(Integer/parseInt "4.2")  ;=!
(Integer/parseInt " 42")  ;=!
(Integer/parseInt "")  ;=!
(Integer/parseInt "2147483648")  ;=!
(Long/parseLong "2147483648")  ;=> 2147483648
(Long/parseLong "9223372036854775808")  ;=!
(Integer/valueOf "7")  ;=> 7
(Long/valueOf 7)  ;=> 7
(Integer/toString 255 16)  ;=> "ff"
(Integer/toString -255 2)  ;=> "-11111111"
(Integer/toBinaryString 10)  ;=> "1010"
(Integer/toBinaryString -1)  ;=> "11111111111111111111111111111111"
(Long/toBinaryString -1)  ;=> "1111111111111111111111111111111111111111111111111111111111111111"
(Integer/toHexString -1)  ;=> "ffffffff"
(Long/toHexString 255)  ;=> "ff"
(Integer/toOctalString 8)  ;=> "10"
(Integer/bitCount 255)  ;=> 8
(Long/bitCount -1)  ;=> 64
(Integer/compare 3 5)  ;=> -1
(Long/compare 5 5)  ;=> 0
(Integer/signum -9)  ;=> -1
(Integer/MAX_VALUE)  ;=> 2147483647
Integer/MIN_VALUE  ;=> -2147483648
Long/MAX_VALUE  ;=> 9223372036854775807
Double/MAX_VALUE  ;=> 1.7976931348623157E308
(Double/parseDouble "1e3")  ;=> 1000.0
(Double/parseDouble " 1.5 ")  ;=> 1.5
(Double/parseDouble "abc")  ;=!
(Double/parseDouble "NaN")  ;=> ##NaN
(Double/valueOf "2.5")  ;=> 2.5
(Double/toString 100.0)  ;=> "100.0"
(Double/isNaN ##NaN)  ;=> true
(Double/isInfinite ##Inf)  ;=> true
(Double/compare 1.0 2.0)  ;=> -1
(Double/compare 0.0 -0.0)  ;=> 1
(Boolean/parseBoolean "TRUE")  ;=> true
(Boolean/valueOf "x")  ;=> false

;; Characters.

(Character/isDigit \5)  ;=> true
(Character/isLetter \a)  ;=> true
(Character/isLetter \5)  ;=> false
(Character/isLetterOrDigit \_)  ;=> false
(Character/isUpperCase \A)  ;=> true
(Character/isWhitespace \space)  ;=> true
(Character/isWhitespace \newline)  ;=> true
(Character/isAlphabetic (int \a))  ;=> true
(Character/toUpperCase \a)  ;=> "A"
(Character/toLowerCase \A)  ;=> "a"
(Character/digit \f 16)  ;=> 15
(Character/digit \z 10)  ;=> -1
(Character/getNumericValue \7)  ;=> 7
(Character/getNumericValue \a)  ;=> 10
(Character/forDigit 10 16)  ;=> "a"
(Character/toString \a)  ;=> "a"

;; Strings.

(String/valueOf 42)  ;=> "42"
(String/valueOf 1.5)  ;=> "1.5"
(String/valueOf true)  ;=> "true"
(String/valueOf :a)  ;=> ":a"
(String/join "," ["a" "b"])  ;=> "a,b"
(String/join "," (map str [1 2 3]))  ;=> "1,2,3"
(String/format "%.2f %s" (to-array [1.005 "x"]))  ;=> "1.01 x"
(String/format "%d" (into-array Object [5]))  ;=> "5"
(.length "héllo")  ;=> 5
; divergence: D02
(.length "a😀b")  ;=> 3
(.isEmpty "")  ;=> true
(.isBlank " \t")  ;=> true
(.charAt "hello" 1)  ;=> "e"
(.charAt "hello" 9)  ;=!
(.substring "hello" 2)  ;=> "llo"
(.substring "hello" 1 3)  ;=> "el"
(.substring "hello" 3 1)  ;=!
(.substring "hello" -1)  ;=!
; divergence: D02
(.substring "a😀b" 2)  ;=> "b"
(.indexOf "hello" "l")  ;=> 2
(.indexOf "hello" "l" 3)  ;=> 3
(.indexOf "hello" "")  ;=> 0
(.indexOf "hello" "z")  ;=> -1
; divergence: D02
(.indexOf "a😀b" "b")  ;=> 2
(.indexOf "hello" (int \l))  ;=> 2
(.lastIndexOf "hello" "l")  ;=> 3
(.lastIndexOf "hello" "l" 2)  ;=> 2
(.lastIndexOf "hello" "")  ;=> 5
(.lastIndexOf "hello" "h" 0)  ;=> 0
(.contains "hello" "ell")  ;=> true
(.startsWith "hello" "ell" 1)  ;=> true
(.endsWith "hello" "")  ;=> true
(.equals "a" "a")  ;=> true
(.equals "a" nil)  ;=> false
(.equals 1 1.0)  ;=> false
(.equals [1 2] '(1 2))  ;=> true
(.equalsIgnoreCase "HeLLo" "hEllO")  ;=> true
(.compareTo "apple" "banana")  ;=> -1
(.compareTo "abc" "ab")  ;=> 1
(.compareTo "a" "a")  ;=> 0
(.compareToIgnoreCase "A" "b")  ;=> -1
(.equalsIgnoreCase "straße" "STRASSE")  ;=> false
(.equalsIgnoreCase "STRAßE" "straße")  ;=> true
(.equalsIgnoreCase "ÉMILE" "émile")  ;=> true
(.equalsIgnoreCase "a" nil)  ;=> false
(.compareToIgnoreCase "ß" "SS")  ;=> 108
(sort String/CASE_INSENSITIVE_ORDER ["banana" "Cherry" "apple" "BANANA"])  ;=> ("apple" "banana" "BANANA" "Cherry")
(sort-by :n String/CASE_INSENSITIVE_ORDER [{:n "b"} {:n "A"} {:n "C"}])  ;=> ({:n "A"} {:n "b"} {:n "C"})
(into (sorted-map-by String/CASE_INSENSITIVE_ORDER) {"b" 1 "A" 2})  ;=> {"A" 2, "b" 1}
(.compareTo 1 2)  ;=> -1
(.compareTo 2.5 1.5)  ;=> 1
(.toUpperCase "straße")  ;=> "STRASSE"
(.toLowerCase "ÀB")  ;=> "àb"
(.trim "  a b\n")  ;=> "a b"
(.strip "  a b\n")  ;=> "a b"
(.stripLeading "  a ")  ;=> "a "
(.replace "a.b.c" "." "-")  ;=> "a-b-c"
(.replace "aaa" \a \b)  ;=> "bbb"
(.replaceAll "a1b22" "\\d+" "#")  ;=> "a#b#"
(.replaceAll "john smith" "(\\w+) (\\w+)" "$2 $1")  ;=> "smith john"
(.replaceFirst "a1b22" "\\d+" "#")  ;=> "a#b22"
(vec (.split "a,b,,c,," ","))  ;=> ["a" "b" "" "c"]
(vec (.split "a,b,,c,," "," -1))  ;=> ["a" "b" "" "c" "" ""]
(vec (.split "a,b,c" "," 2))  ;=> ["a" "b,c"]
(vec (.split "a|b" "\\|"))  ;=> ["a" "b"]
(vec (.split "" ","))  ;=> [""]
(vec (.split "abc" ""))  ;=> ["a" "b" "c"]
(.matches "abc123" "[a-z]+\\d+")  ;=> true
(.matches "abc123x" "[a-z]+\\d+")  ;=> false
(.concat "a" "b")  ;=> "ab"
(.repeat "ab" 3)  ;=> "ababab"
(.repeat "ab" 0)  ;=> ""
(.hashCode "hello world")  ;=> 1794106052
(.hashCode 12345678901)  ;=> -539222985
(.hashCode true)  ;=> 1231
(.codePointAt "a" 0)  ;=> 97
(vec (.getBytes "é"))  ;=> [-61 -87]
(String. "abc")  ;=> "abc"
(.toString 42)  ;=> "42"
(.toString [1 2])  ;=> "[1 2]"
(.toString :a)  ;=> ":a"

;; Collections, classes and exceptions.

(.size [1 2 3])  ;=> 3
(.size {:a 1})  ;=> 1
(.isEmpty [])  ;=> true
(.get {:a 1} :a)  ;=> 1
(.get [1 2 3] 1)  ;=> 2
(.get [1 2 3] 9)  ;=!
(.getOrDefault {:a 1} :b 5)  ;=> 5
(.containsKey {:a 1} :a)  ;=> true
(.containsValue {:a 1} 1)  ;=> true
(.contains [1 2 3] 2)  ;=> true
(.contains #{1 2} 2)  ;=> true
(.indexOf [1 2 3] 3)  ;=> 2
(.lastIndexOf [1 2 1] 1)  ;=> 2
(set (.keySet {:a 1}))  ;=> #{:a}
(vec (.values {:a 1}))  ;=> [1]
(.getKey (first {:a 1}))  ;=> :a
(.getValue (first {:a 1}))  ;=> 1
(.intValue 3.99)  ;=> 3
(.longValue 3.99)  ;=> 3
(.doubleValue 3)  ;=> 3.0
(.intValue 4294967297)  ;=> 1
(.getName (class "a"))  ;=> "java.lang.String"
(.getSimpleName (class "a"))  ;=> "String"
(.getName :a/b)  ;=> "b"
(.getMessage (ex-info "boom" {}))  ;=> "boom"
(.getMessage (Exception. "x"))  ;=> "x"
(.getData (ex-info "boom" {:a 1}))  ;=> {:a 1}
(.length nil)  ;=!
(.foo "a")  ;=!

;; Decimals.

(double (.setScale (bigdec 1.005) 2 RoundingMode/HALF_UP))  ;=> 1.01
(double (.setScale (BigDecimal. "2.345") 2 RoundingMode/HALF_EVEN))  ;=> 2.34
(double (.setScale (BigDecimal/valueOf 2.5) 0 RoundingMode/HALF_EVEN))  ;=> 2.0
(double (.setScale (BigDecimal/valueOf -2.5) 0 RoundingMode/HALF_UP))  ;=> -3.0
(double (.setScale (BigDecimal/valueOf -2.51) 1 RoundingMode/FLOOR))  ;=> -2.6
(double (.setScale (BigDecimal/valueOf -2.51) 1 RoundingMode/CEILING))  ;=> -2.5
(double (.setScale (BigDecimal/valueOf 2.51) 1 RoundingMode/UP))  ;=> 2.6
(double (.setScale (BigDecimal/valueOf 2.59) 1 RoundingMode/DOWN))  ;=> 2.5
(double (.setScale (BigDecimal/valueOf 2.55) 1 RoundingMode/HALF_DOWN))  ;=> 2.5
(double (.setScale (BigDecimal/valueOf 1234.5) -2 RoundingMode/HALF_UP))  ;=> 1200.0
(double (.setScale (BigDecimal. "2.345") 2))  ;=!
(double (.add (BigDecimal. "0.1") (BigDecimal. "0.2")))  ;=> 0.3
(double (.multiply (BigDecimal. "1.1") (BigDecimal. "1.1")))  ;=> 1.21
(double (.divide (BigDecimal. "10") (BigDecimal. "4")))  ;=> 2.5
(double (.divide (BigDecimal. "10") (BigDecimal. "3")))  ;=!
(double (.divide (BigDecimal. "10") (BigDecimal. "3") 2 RoundingMode/HALF_UP))  ;=> 3.33
(.toPlainString (BigDecimal. "1E+3"))  ;=> "1000"
(.toPlainString (BigDecimal/valueOf 1.0E10))  ;=> "10000000000"
(.compareTo (BigDecimal. "1.0") (BigDecimal. "1.00"))  ;=> 0
(.signum (BigDecimal. "-1.5"))  ;=> -1
(.pow (BigInteger. "2") 100)  ;=> 1267650600228229401496703205376
(.gcd (BigInteger. "12") (BigInteger. "18"))  ;=> 6
(.modPow (BigInteger. "3") (BigInteger. "200") (BigInteger. "13"))  ;=> 9
(BigDecimal. "abc")  ;=!

;; Helper classes and StringBuilder.

(Objects/equals 1 1)  ;=> true
(Arrays/toString (to-array [1 nil "a"]))  ;=> "[1, null, a]"
(Collections/max [3 1 2])  ;=> 3
(Collections/frequency [1 2 1] 1)  ;=> 2
(map #(Character/isDigit %) "a1")  ;=> (false true)
(let [sb (StringBuilder.)] (.append sb "a") (.append sb 1) (.append sb \b) (.toString sb))  ;=> "a1b"
(let [sb (StringBuilder. "abc")] (str (.reverse sb)))  ;=> "cba"
(let [sb (StringBuilder. "abc")] (.insert sb 1 "X") (str sb))  ;=> "aXbc"
(let [sb (StringBuilder. "abc")] (.length sb))  ;=> 3
(let [sb (StringBuilder. "abc")] (.deleteCharAt sb 1) (str sb))  ;=> "ac"
(let [sb (StringBuilder. "abc")] (.setLength sb 1) (str sb))  ;=> "a"

;; What the JVM does otherwise.

; divergence: D54
(Math/round 5)
;=> 5

; divergence: D54
(Math/max 1 2.5)
;=> 2.5

(str (.divide (BigDecimal. "10.00") (BigDecimal. "3") RoundingMode/HALF_UP))
;=> "3.33"

(str (.setScale (bigdec 2.5) 2 RoundingMode/HALF_UP))
;=> "2.50"

; divergence: D52
(.add 1M 2)
;=> 3M

; divergence: D52
(pr-str (with-precision 3 (map #(* 1.2345M %) [1 2])))
;=> "(1.23M 2.47M)"

;; Digests, forms of Unicode, number formats.
(apply str (map #(format "%02x" %) (.digest (java.security.MessageDigest/getInstance "SHA-256") (.getBytes "abc" "UTF-8"))))  ;=> "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
(apply str (map #(format "%02x" (bit-and % 0xff)) (.digest (java.security.MessageDigest/getInstance "MD5") (.getBytes "abc"))))  ;=> "900150983cd24fb0d6963f7d28e17f72"
(.toString (BigInteger. 1 (.digest (java.security.MessageDigest/getInstance "SHA-512") (.getBytes "a"))) 16)  ;=> "1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f5302860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75"
(format "%032x" (BigInteger. 1 (.digest (java.security.MessageDigest/getInstance "MD5") (.getBytes "a"))))  ;=> "0cc175b9c0f1b6a831c399e269772661"
(count (.digest (java.security.MessageDigest/getInstance "SHA-384") (.getBytes "")))  ;=> 48
(java.security.MessageDigest/getInstance "nope")  ;=!
; divergence: D57
(first (.digest (java.security.MessageDigest/getInstance "SHA-256") (.getBytes "abc")))  ;=> 186
(str (BigInteger. -1 (byte-array [1 0])))  ;=> "-256"
(clojure.string/replace (java.text.Normalizer/normalize "Crème Brûlée Å ﬁ" java.text.Normalizer$Form/NFD) #"\p{InCombiningDiacriticalMarks}+" "")  ;=> "Creme Brulee A ﬁ"
(count (java.text.Normalizer/normalize "é" java.text.Normalizer$Form/NFD))  ;=> 2
(java.text.Normalizer/normalize "ﬁ①" java.text.Normalizer$Form/NFKC)  ;=> "fi1"
(= "é" (java.text.Normalizer/normalize "e\u0301" java.text.Normalizer$Form/NFC))  ;=> true
(.format (java.text.NumberFormat/getCurrencyInstance java.util.Locale/US) 1234.5)  ;=> "$1,234.50"
(.format (java.text.NumberFormat/getCurrencyInstance java.util.Locale/US) -0.256M)  ;=> "-$0.26"
(.format (java.text.NumberFormat/getInstance java.util.Locale/US) 1234567.8915)  ;=> "1,234,567.891"
(.format (java.text.NumberFormat/getIntegerInstance java.util.Locale/US) 1234.5)  ;=> "1,234"
(.format (java.text.NumberFormat/getPercentInstance java.util.Locale/US) 0.256)  ;=> "26%"
