{-# external_resources: { e: { a: "0x03000000" } } #-}
